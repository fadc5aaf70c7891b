/** Package managers: how each puts a packed package into a project, and runs what came with it. */
import {writeFileSync} from 'node:fs'
import {join, relative} from 'node:path'
import {fetched} from './tools.js'

/** A package manager of one version. */
export interface Manager {
  name: string
  /** In the registry. */
  spec: string
  /** Below `node_modules`; run by Node unless it is a program itself. */
  entry: string
  program?: boolean
  /** Major versions of Node that it runs on. */
  nodes: readonly number[]
  /** Whether it runs install scripts of dependencies only when told to. */
  blocksScripts: boolean
  /**
   * Files of the project before the installation.
   *
   * @param tarball - relative to the project
   * @param scripts - whether install scripts are to run
   */
  files?(tarball: string, scripts: boolean): Record<string, string>
  add(tarball: string): string[]
  /** Runs a command of `node_modules/.bin`. */
  exec(...command: string[]): string[]
  /** Its stand-in for the file system lacks what a run's lock takes (`FileHandle.datasync`): no run is saved. */
  refusesRuns?: boolean
  /** How Node is run where it takes the manager to find packages. */
  node?: string[]
}

const NODES = [20, 22, 24]

const npm = {
  entry: 'npm/bin/npm-cli.js',
  add: (tarball: string) => ['install', tarball, 'typescript@6'],
  exec: (...command: string[]) => ['exec', '--no', '--', ...command],
}
const pnpm = {
  blocksScripts: true,
  add: (tarball: string) => ['add', tarball, 'typescript@6'],
  exec: (...command: string[]) => ['exec', ...command],
}
const yarn4 = {
  spec: '@yarnpkg/cli-dist@4',
  entry: '@yarnpkg/cli-dist/bin/yarn.js',
  nodes: NODES,
  blocksScripts: true,
  add: (tarball: string) => ['add', `rfa@file:${tarball}`, 'typescript@6'],
  exec: (...command: string[]) => ['run', ...command],
}

/** Settings of yarn 4; without a lock file of its own a project is taken for a part of one further up. */
function yarn4Files(linker: string, scripts: boolean): Record<string, string> {
  return {'yarn.lock': '', '.yarnrc.yml': `nodeLinker: ${linker}\nenableScripts: ${scripts}\n`}
}

/** pnpm fails where nobody has said of an install script whether it may run. */
function pnpmFiles(tarball: string, scripts: boolean): Record<string, string> {
  const rfa = `  'rfa@file:${tarball}': ${scripts}`
  return {'pnpm-workspace.yaml': ['allowBuilds:', rfa, ''].join('\n')}
}

export const MANAGERS = {
  npm11: {...npm, name: 'npm 11', spec: 'npm@11', nodes: NODES, blocksScripts: false},
  npm12: {...npm, name: 'npm 12', spec: 'npm@12', nodes: [22, 24], blocksScripts: true},
  pnpm10: {
    ...pnpm,
    name: 'pnpm 10',
    spec: 'pnpm@10',
    entry: 'pnpm/bin/pnpm.cjs',
    nodes: NODES,
  },
  pnpm12: {
    ...pnpm,
    name: 'pnpm 12',
    spec: 'pnpm@12',
    entry: 'pnpm/pnpm',
    program: true,
    nodes: NODES,
    files: pnpmFiles,
  },
  yarn1: {
    name: 'yarn 1',
    spec: 'yarn@1',
    entry: 'yarn/bin/yarn.js',
    nodes: NODES,
    blocksScripts: false,
    add: tarball => ['add', `file:${tarball}`, 'typescript@6'],
    exec: (...command) => ['--silent', 'run', ...command],
  },
  yarn4: {...yarn4, name: 'yarn 4', files: (_, scripts) => yarn4Files('node-modules', scripts)},
  yarn4pnp: {
    ...yarn4,
    name: 'yarn 4, PnP',
    files: (_, scripts) => yarn4Files('pnp', scripts),
    node: ['node'],
    refusesRuns: true,
  },
} as const satisfies Record<string, Manager>

/** The words that start a manager; a string that says why it is not to be had. */
export function started(manager: Manager): {words: string[]} | string {
  const found = fetched(manager.spec.replaceAll('/', '-'), manager.spec)
  if (typeof found === 'string') return found
  const entry = join(found.modules, manager.entry)
  return {words: manager.program ? [entry] : ['node', entry]}
}

/** Writes the files that a project needs before its manager installs anything. */
export function writeFiles(manager: Manager, folder: string, tarball: string, scripts: boolean) {
  for (const [name, text] of Object.entries(
    manager.files?.(relative(folder, tarball), scripts) ?? {},
  )) {
    writeFileSync(join(folder, name), text)
  }
}
