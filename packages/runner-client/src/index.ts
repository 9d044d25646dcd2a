export { MadeToken } from './made-token.ts';
export { runnerApiOverClient } from './runner-api-over-client.ts';
export { type CardPlace, RunnerDialogs } from './runner-dialogs.ts';
export { type AddressProblem, defaultServer, readServerAddress } from './server-address.ts';
export { readSignInLink } from './sign-in-link.ts';
export { tokenIdOf } from './token-id.ts';
