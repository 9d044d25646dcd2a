import '@countersign/ui/styles.css';
import { keepPreferences, loadPreferences } from '@countersign/ui';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { takeSignInCode, tokenStorage } from './sign-in.ts';

const code = takeSignInCode(window.location, window.history);
loadPreferences(localStorage);
keepPreferences(localStorage);
const page = document.getElementById('page');
if (page) {
  createRoot(page).render(
    <StrictMode>
      <App tokens={tokenStorage(localStorage)} code={code} />
    </StrictMode>,
  );
}
