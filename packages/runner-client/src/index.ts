export {
  cardDialogs,
  decideThrough,
  RunnerSession,
  runnerApiOverClient,
} from './runner-session.ts';
export { ScopedToken } from './scoped-token.ts';
export {
  type AddressProblem,
  defaultServer,
  isToken,
  readServerAddress,
  readSignInLink,
  tokenEndOf,
  tokenIdOf,
} from './sign-in.ts';
