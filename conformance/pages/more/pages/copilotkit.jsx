import { server } from '../../pages/settings.js';
import { mount } from './copilotkit-chat.jsx';

mount({ runtimeUrl: `${server}/v1/ag-ui` });
