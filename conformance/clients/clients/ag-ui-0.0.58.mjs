// `HttpAgent` as it was before AG-UI 1.0.

import { agUi } from './ag-ui.mjs';

export default agUi({ name: 'ag-ui-0.0.58', module: '@ag-ui/client-0.0.58' });
