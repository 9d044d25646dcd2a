import type { ComponentPropsWithRef } from 'react';

interface ButtonProps extends Omit<ComponentPropsWithRef<'button'>, 'className' | 'type'> {
  /** Names of looks in controls.css: `primary`, `danger`, `quiet`, `small`. */
  readonly look?: string;
  readonly type?: 'button' | 'submit';
}

export function Button({ look = '', type = 'button', ...props }: ButtonProps) {
  return <button type={type} className={`button ${look}`.trim()} {...props} />;
}
