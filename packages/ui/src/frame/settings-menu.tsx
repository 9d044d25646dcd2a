import { type LanguageCode, languages, useLanguage, useWords } from '../words/words.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { askForNotifications, useNotificationState } from './notifications.ts';
import { Popover } from './popover.tsx';
import { type Preferences, usePreference } from './preferences.ts';

interface SettingsMenuProps {
  onShortcuts(): void;
  onSignOut(): void;
}

/** Colours, language, notifications and signing out. */
export function SettingsMenu({ onShortcuts, onSignOut }: SettingsMenuProps) {
  const words = useWords();
  const language = useLanguage();
  const [theme, setTheme] = usePreference('theme');
  const [, setLanguage] = usePreference('language');
  const { settings } = words;
  const themes: readonly Preferences['theme'][] = ['system', 'light', 'dark'];
  return (
    <Popover
      className="settings"
      label={
        <>
          <Icon name="settings" /> <span className="nav-name">{words.nav.settings}</span>
        </>
      }
    >
      <fieldset className="segmented">
        <legend>{settings.theme}</legend>
        {themes.map((one) => (
          <button key={one} type="button" aria-pressed={theme === one} onClick={() => setTheme(one)}>
            {settings[one]}
          </button>
        ))}
      </fieldset>
      <fieldset className="segmented">
        <legend>{settings.language}</legend>
        {(Object.keys(languages) as LanguageCode[]).map((code) => (
          <button
            key={code}
            type="button"
            lang={code}
            aria-pressed={language === code}
            onClick={() => setLanguage(code)}
          >
            {languages[code].language}
          </button>
        ))}
      </fieldset>
      <NotificationSwitch />
      <div className="menu-buttons">
        <Button look="quiet" onClick={onShortcuts}>
          {settings.shortcuts} <kbd>?</kbd>
        </Button>
        <Button look="quiet" onClick={onSignOut}>
          {settings.signOut}
        </Button>
      </div>
    </Popover>
  );
}

/** Asks the browser only on a click: browsers block pages that ask on load. */
function NotificationSwitch() {
  const { settings } = useWords();
  const [wanted, setWanted] = usePreference('notify');
  const [permission, refresh] = useNotificationState();
  if (permission === 'unsupported') return null;
  if (permission === 'denied') return <p className="muted">{settings.notifyBlocked}</p>;
  return (
    <label className="check-field">
      <input
        type="checkbox"
        checked={wanted && permission === 'granted'}
        onChange={async ({ target }) => {
          if (!target.checked) return setWanted(false);
          setWanted((await askForNotifications()) === 'granted');
          refresh();
        }}
      />
      <span>{settings.notify}</span>
    </label>
  );
}
