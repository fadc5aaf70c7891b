/** Scripts that have a shell complete commands, flags, and the names that these take. */
import {bashCompletion} from './bash.js'
import {fishCompletion} from './fish.js'
import type {CompletedCommand} from './surface.js'
import {zshCompletion} from './zsh.js'

export {surfaceOf} from './surface.js'

const SCRIPTS = {bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion}

export type CompletedShell = keyof typeof SCRIPTS

/** The script for a shell. @param bin - what the program is called */
export function completionScript(
  shell: CompletedShell,
  bin: string,
  commands: readonly CompletedCommand[],
): string {
  return SCRIPTS[shell](bin, commands)
}
