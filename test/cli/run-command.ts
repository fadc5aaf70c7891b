/** Runs a command of the source tree in this process and catches what it prints. */
import {join} from 'node:path'
import {pathToFileURL} from 'node:url'
import type {Config} from '@oclif/core'
import type {Command} from '@oclif/core/command'
import {ExitError} from '@oclif/core/errors'
import {vi} from 'vitest'
import {type Services, services} from '../../src/cli/program/services.js'
import {packageRoot} from '../../src/package.js'
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
  return caught(async () => {
    const instance = new Class(argv, CONFIG) as unknown as Running
    instance.services = {...services, ...changed}
    return await instance._run()
  })
}

/** Runs the whole program in this process, as it is built: its errors are known to what is built with it only. */
export async function runMain(...argv: string[]): Promise<Outcome> {
  const built = join(packageRoot(), 'dist', 'program', 'src', 'cli', 'program', 'main.js')
  const {main} = await import(pathToFileURL(built).href)
  const exit = vi.spyOn(process, 'exit').mockImplementation(code => {
    process.exitCode = Number(code ?? 0) // the last thing that it does
    return undefined as never
  })
  // a program listens as long as its process lives: for errors, and, as its end flushes stdout, for a drain that may never come
  const endListening = ['error', 'drain'].flatMap(event =>
    [process.stdout, process.stderr].map(stream => {
      const before = stream.listeners(event)
      return () => {
        for (const own of stream.listeners(event)) {
          if (!before.includes(own)) stream.off(event, own as () => void)
        }
      }
    }),
  )
  try {
    return await caught(() =>
      main(argv, pathToFileURL(join(packageRoot(), 'bin', 'start.js')).href),
    )
  } finally {
    exit.mockRestore()
    for (const end of endListening) end()
  }
}

/** What a body prints and gives, and the exit code that it leaves or throws. */
async function caught(body: () => Promise<unknown>): Promise<Outcome> {
  const stdout = captured(process.stdout)
  const stderr = captured(process.stderr)
  const before = process.exitCode
  process.exitCode = undefined
  const ended = (exitCode: number, result?: unknown) => ({
    ...{stdout: stdout.text(), stderr: stderr.text()},
    ...{exitCode, result},
  })
  try {
    const result = await body()
    return ended(Number(process.exitCode ?? 0), result)
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    return ended(error.oclif.exit ?? 0)
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
