/** Fresh TypeScript projects that install the packed package, and what a user then does in them. */
import {execFile, execFileSync} from 'node:child_process'
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {packageRoot} from '../../src/package.js'
import {type Manager, started, writeFiles} from './managers.js'
import {environment, nodeCommand} from './tools.js'

/** What a command came to. */
export interface Outcome {
  status: number
  /** stdout, then stderr. */
  said: string
}

/** A way to install the package. */
export interface Installation {
  manager: Manager
  /** Major version. */
  node: number
  /** Whether addons built beforehand are in the package. */
  prebuilt: boolean
  /** Whether the machine has a compiler. */
  compiler: boolean
}

/** The library's first example in the README. */
const EXAMPLE = readFileSync(join(packageRoot(), 'README.md'), 'utf8').match(
  /```ts\n(.*?)```/s,
)![1]!

const COMPILER_OPTIONS = {
  strict: true,
  module: 'nodenext',
  target: 'es2022',
  types: [],
  skipLibCheck: true,
}

/** Runs a program to its end. @param user - its user, where not this one */
export function run(
  words: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  user?: number,
): Promise<Outcome> {
  const [command, ...argv] = words
  const options = {cwd, env, maxBuffer: 2 ** 26, ...(user !== undefined && {uid: user, gid: user})}
  return new Promise(resolve => {
    execFile(command!, argv, options, (error, stdout, stderr) => {
      const status = typeof error?.code === 'number' ? error.code : error ? 1 : 0
      resolve({status, said: `${stdout}${stderr}${error && !stderr ? error.message : ''}`})
    })
  })
}

/** The same package without prebuilt addons, in a folder of its own. */
export function withoutPrebuilds(tarball: string, folder: string): string {
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', tarball], {cwd: folder})
  rmSync(join(folder, 'package', 'prebuilds'), {recursive: true, force: true})
  execFileSync('tar', ['-czf', 'rfa-without.tgz', 'package'], {cwd: folder})
  return join(folder, 'rfa-without.tgz')
}

/** An installation by its programs, or a sentence that says why it cannot be made here. */
export function prepared({manager, node, compiler}: Installation) {
  const programs = started(manager)
  if (typeof programs === 'string') return programs
  const command = nodeCommand(node)
  if (typeof command === 'string') return command
  return {words: programs.words, env: environment(command.command, compiler)}
}

/** Has something done when a test ends: that of the test's own context, as tests run beside each other. */
export type AtEnd = (cleanUp: () => void) => void

/** A new project with the README's example in it; removed after the test. */
export function newProject(atEnd: AtEnd, name = 'project'): string {
  const above = mkdtempSync(join(tmpdir(), 'rfa-installed-'))
  atEnd(() => rmSync(above, {recursive: true, force: true}))
  const folder = join(above, name)
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({name: 'project', private: true, type: 'module'}),
  )
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({compilerOptions: COMPILER_OPTIONS}))
  writeFileSync(join(folder, 'main.ts'), EXAMPLE)
  return folder
}

/** Installs the package into a new project. @returns what its user runs there, and what the manager came to */
export async function install(installation: Installation, tarball: string, atEnd: AtEnd) {
  const ready = prepared(installation)
  if (typeof ready === 'string') throw new Error(ready)
  const {words, env} = ready
  const {manager} = installation
  const folder = newProject(atEnd)
  writeFiles(manager, folder, tarball, !installation.prebuilt)
  const added = await run([...words, ...manager.add(tarball)], folder, env)
  return {
    folder,
    env,
    added,
    manage: (...argv: string[]) => run([...words, ...argv], folder, env),
    exec: (...command: string[]) => run([...words, ...manager.exec(...command)], folder, env),
    node: (...argv: string[]) =>
      run(manager.node ? [...words, ...manager.node, ...argv] : ['node', ...argv], folder, env),
  }
}
