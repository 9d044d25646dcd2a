/**
 * VS Code writes its logs and output channels through a native module. An npm install without scripts does not compile
 * it, so output channels would stay empty. This replaces it in JavaScript.
 */
export const logModule = `'use strict';
const { appendFileSync, mkdirSync } = require('node:fs');
const { dirname } = require('node:path');

class Logger {
  constructor(_type, _name, path) {
    this.path = path;
    this.level = 2;
    this.isPlain = false;
    mkdirSync(dirname(path), { recursive: true });
  }
  write(level, name, message) {
    if (level < this.level) return;
    const head = this.isPlain ? '' : new Date().toISOString().replace(/[TZ]/g, ' ') + '[' + name + '] ';
    appendFileSync(this.path, head + message + (this.isPlain ? '' : '\\n'));
  }
  trace(message) { this.write(0, 'trace', message); }
  debug(message) { this.write(1, 'debug', message); }
  info(message) { this.write(2, 'info', message); }
  warn(message) { this.write(3, 'warning', message); }
  error(message) { this.write(4, 'error', message); }
  critical(message) { this.write(5, 'critical', message); }
  getLevel() { return this.level; }
  setLevel(level) { this.level = level; }
  setPattern() { this.isPlain = false; }
  clearFormatters() { this.isPlain = true; }
  flush() {}
  drop() {}
}

exports.version = 0;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.Logger = Logger;
exports.createRotatingLogger = async (name, path) => new Logger('rotating', name, path);
exports.createAsyncRotatingLogger = exports.createRotatingLogger;
`;
