/** The package as users get it: packed, and unpacked into projects of their own, without a network. */
import {execFileSync} from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {basename, dirname, join} from 'node:path'
import {packageRoot} from '../../src/package.js'

const root = packageRoot()

/** What npm says of a packed package. */
export interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: {path: string; size: number}[]
}

/** Packs what is built as `npm run pack:release` does. @param args - of npm pack, e.g. `--dry-run`, or `--kernels` */
export function pack(...args: string[]): Packed {
  const argv = [join(root, 'scripts', 'pack.js'), '--json', ...args]
  const stdio: ('ignore' | 'pipe')[] = ['ignore', 'pipe', 'ignore']
  const told = JSON.parse(
    execFileSync(process.execPath, argv, {cwd: root, encoding: 'utf8', stdio}),
  )
  const [packed] = Object.values(told) as Packed[] // a list, and by name since npm 12
  return packed!
}

/** A folder with the packed package in `package/`. */
export function unpacked(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rfa-packed-'))
  const {filename} = pack('--pack-destination', folder)
  execFileSync('tar', ['-xzf', filename], {cwd: folder})
  return join(folder, 'package')
}

/** How packages lie in `node_modules`: all beside each other as npm does it, or as pnpm does it each with its own only. */
export type Layout = 'npm' | 'pnpm'

/**
 * A project that depends on nothing but this package.
 *
 * @param from - the unpacked package
 * @param native - with the addon of this checkout, where there is one
 * @returns its folder
 */
export function projectWith(from: string, layout: Layout, native: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), `rfa-${layout}-`))
  const manifest = {name: 'project', private: true, type: 'module', dependencies: {rfa: '*'}}
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const modules = join(folder, 'node_modules')
  const beside = layout === 'npm' ? modules : join(modules, '.pnpm', 'rfa@0.2.0', 'node_modules')
  const place = join(beside, 'rfa')
  cpSync(from, place, {recursive: true, filter: path => basename(path) !== 'prebuilds'})
  const built = join(root, 'build', 'Release', 'rfa.node')
  if (native && existsSync(built)) cpSync(built, join(place, 'build', 'Release', 'rfa.node'))
  for (const name of dependenciesOf(place))
    link(join(root, 'node_modules', name), join(beside, name))
  if (layout === 'pnpm') link(place, join(modules, 'rfa'))
  return folder
}

function dependenciesOf(folder: string): string[] {
  const {dependencies} = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return Object.keys(dependencies)
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), {recursive: true})
  symlinkSync(target, path, 'junction')
}
