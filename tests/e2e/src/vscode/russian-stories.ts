import { expect, it } from 'vitest';
import type { EditorHome } from './editor-home.ts';
import { soon } from './editor-window.ts';

/** The extension in Russian. */
export function russianStories(home: () => EditorHome): void {
  it('[UI-2] commands, views, chat, dialogs and the status bar are in Russian, and dark if the editor is', async () => {
    const window = await home().russianWindow();
    expect(await window.state()).toBe('Countersign: вход не выполнен');
    await window.command('Countersign: Войти');
    await window.type(await home().signInLink());
    await expect.poll(() => window.state(), soon).toContain('вас ничто не ждёт');
    await window.command('Countersign: Открыть чат');
    await window.chat.getByText('Что должен сделать агент?').waitFor();
    home().write('russian.md', 'x\n');
    await window.chat.locator('[data-composer]').fill('/delete_file path=russian.md');
    await window.chat.getByRole('button', { name: 'Отправить' }).click();
    await expect.poll(() => window.state(), soon).toContain('1 одобрение ждёт вас');
    await window.card('russian.md').waitFor();
    await window.picture('russian-chat');
    await window.row('Ожидают одобрения', 'Агент хочет удалить russian.md').click();
    await window.dialog.filter({ hasText: 'Агент хочет удалить russian.md' }).waitFor();
    await window.picture('russian-dialog');
    await window.answer('Отклонить…');
    await window.type('не надо');
    await window.chat.getByText('не надо').first().waitFor();
    await window.picture('russian-rejected');
    expect(home().has('russian.md')).toBe(true);
    await window.page.context().close();
  });
}
