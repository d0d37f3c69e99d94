// `HttpAgent` as it was before AG-UI 1.0, where a run that is stopped is an error.

import { agUi } from './ag-ui.mjs';

export default agUi({ name: 'ag-ui-0.0.58', module: '@ag-ui/client-0.0.58', stopsAs: 'a person asked for it' });
