export { runnerApiOverClient } from './runner-api-over-client.ts';
export { type CardPlace, cardDialogs, decideThrough, RunnerSession } from './runner-session.ts';
export { ScopedToken } from './scoped-token.ts';
export { type AddressProblem, defaultServer, readServerAddress } from './server-address.ts';
export { isToken, readSignInLink } from './sign-in-link.ts';
export { tokenEndOf, tokenIdOf } from './token-claims.ts';
