/** The shells that people type commands into, where they are installed. */
import {execFile, spawnSync} from 'node:child_process'
import {describe} from 'vitest'

/** How each reads one command, without the files of its user. */
const SHELLS = {
  bash: ['--norc', '-c'],
  zsh: ['-f', '-c'],
  fish: ['--no-config', '-c'],
} as const
export type Shell = keyof typeof SHELLS

/** What a command left behind. */
export interface Ending {
  code: number
  stdout: string
  stderr: string
}

/** Runs a line as somebody would type it. */
export function inShell(
  shell: Shell,
  line: string,
  options: {cwd?: string; env?: NodeJS.ProcessEnv} = {},
): Promise<Ending> {
  return new Promise(resolve => {
    execFile(shell, [...SHELLS[shell], line], options, (error, stdout, stderr) => {
      resolve({code: Number(error?.code ?? 0), stdout, stderr})
    })
  })
}

/** A suite for each shell; of one that is not there it says so and skips. */
export function describeShells(what: string, suite: (shell: Shell) => void): void {
  for (const shell of Object.keys(SHELLS) as Shell[]) {
    const present = spawnSync(shell, [...SHELLS[shell], 'true']).status === 0
    const title = present ? `${what} in ${shell}` : `${what} in ${shell}, which is not installed`
    describe.skipIf(!present)(title, () => suite(shell))
  }
}
