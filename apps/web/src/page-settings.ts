/** Reads the server's suggestion for the first message of a conversation; null without one. */
export async function readFirstMessage(fetchWith: typeof fetch = fetch): Promise<string | null> {
  try {
    const response = await fetchWith('page-settings.json');
    const settings: unknown = response.ok ? await response.json() : null;
    const isObject = typeof settings === 'object' && settings !== null && 'first_message' in settings;
    return isObject && typeof settings.first_message === 'string' ? settings.first_message : null;
  } catch {
    return null; // the page works without the suggestion
  }
}
