/** Runs a command of the source tree in this process and catches what it prints. */
import type {Config} from '@oclif/core'
import type {Command} from '@oclif/core/command'
import {ExitError} from '@oclif/core/errors'
import {vi} from 'vitest'
import {type Services, services} from '../../src/cli/program/services.js'
import {commandIds, loadCommand} from '../helpers/commands.js'

/** What running a command left behind. */
export interface Outcome {
  stdout: string
  stderr: string
  exitCode: number
  result: unknown
}

/** As much of a configuration as commands touch: no plugins, no hooks, no files. */
const CONFIG = {
  bin: 'rfa',
  commands: commandIds.map(id => ({id, load: () => loadCommand(id)})),
  runHook: async () => ({successes: [], failures: []}),
  scopedEnvVar: () => undefined,
  scopedEnvVarKeys: () => [],
} as unknown as Config

interface Running {
  services: Services
  _run(): Promise<unknown>
}
type CommandClass = (new (argv: string[], config: Config) => Command) & {id: string}

/**
 * Runs `rfa <id> ...argv`.
 *
 * @param changed - services in place of those of the library
 */
export async function runCommand(
  command: unknown,
  id: string,
  argv: string[],
  changed: Partial<Services> = {},
): Promise<Outcome> {
  const Class = command as CommandClass
  Class.id = id
  const stdout = captured(process.stdout)
  const stderr = captured(process.stderr)
  const before = process.exitCode
  process.exitCode = undefined
  try {
    const instance = new Class(argv, CONFIG) as unknown as Running
    instance.services = {...services, ...changed}
    const result = await instance._run()
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      exitCode: Number(process.exitCode ?? 0),
      result,
    }
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    const exitCode = error.oclif.exit ?? 0
    return {stdout: stdout.text(), stderr: stderr.text(), exitCode, result: undefined}
  } finally {
    stdout.restore()
    stderr.restore()
    process.exitCode = before
  }
}

function captured(stream: NodeJS.WriteStream) {
  const parts: string[] = []
  const spy = vi.spyOn(stream, 'write').mockImplementation(chunk => parts.push(String(chunk)) > 0)
  return {text: () => parts.join(''), restore: () => spy.mockRestore()}
}
