import { describe, expect, it } from 'vitest';
import { deviceName } from './device-name.ts';

describe('the name of this editor', () => {
  it.each([
    ['Visual Studio Code', 'VS Code'],
    ['Visual Studio Code - Insiders', 'VS Code'],
    ['code-server', 'VS Code'],
    ['Code - OSS', 'VS Code'],
    ['VSCodium', 'VS Code'],
    ['Cursor', 'Cursor'],
  ])('%s is called %s', (appName, name) => {
    expect(deviceName(appName)).toBe(name);
  });
});
