export function greeting(name) {
  return `Helo, ${name}!`;
}
