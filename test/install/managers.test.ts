/**
 * The packed package, installed by every package manager into a fresh TypeScript project: the library's example compiles
 * and runs, and so does the program. `npm run test:install`; with RFA_FULL every manager on every version of Node, and
 * with a compiler.
 */
import {existsSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, it} from 'vitest'
import {FULL} from '../helpers/effort.js'
import {temporaryFolder} from '../helpers/folders.js'
import {MANAGERS, type Manager} from './managers.js'
import {type AtEnd, type Installation, install, prepared, withoutPrebuilds} from './projects.js'
import {INSTALL, type Row, releasePackage, tellTable} from './release.js'

const {npm11, npm12, pnpm10, pnpm12, yarn1, yarn4, yarn4pnp} = MANAGERS
const plain = {prebuilt: true, compiler: false}

/** Every kind of installation once: these five have all that can differ. */
const QUICK: Installation[] = [
  {manager: npm11, node: 20, ...plain},
  {manager: npm11, node: 20, prebuilt: false, compiler: false},
  {manager: npm12, node: 24, ...plain},
  {manager: pnpm12, node: 22, ...plain},
  {manager: yarn4, node: 22, ...plain},
]

const EVERY: Installation[] = [
  ...[npm11, npm12, pnpm10, pnpm12, yarn1, yarn4, yarn4pnp].flatMap((manager: Manager) =>
    manager.nodes.map(node => ({manager, node, ...plain})),
  ),
  ...[20, 22, 24].flatMap(node => [
    {manager: npm11, node, prebuilt: true, compiler: true},
    {manager: npm11, node, prebuilt: false, compiler: true},
    {manager: npm11, node, prebuilt: false, compiler: false},
  ]),
  ...[pnpm12, yarn1, yarn4].map(manager => ({manager, node: 22, prebuilt: false, compiler: true})),
  {manager: npm12, node: 22, prebuilt: false, compiler: true},
]

const ROWS = INSTALL ? (FULL ? EVERY : QUICK) : []

function titleOf({manager, node, prebuilt, compiler}: Installation): string {
  const addon = prebuilt ? 'prebuilt addon' : 'no prebuilt addon'
  return `${manager.name} on Node ${node}, ${addon}, ${compiler ? 'a' : 'no'} compiler`
}

/** What computes: npm 12 alone cannot be told beforehand that a script may run. */
function backendOf({manager, prebuilt, compiler}: Installation): 'native' | 'wasm' {
  return prebuilt || (compiler && manager !== npm12) ? 'native' : 'wasm'
}

const folder = temporaryFolder()
const table: Row[] = []
let tarballs: {with: string; without: string}
beforeAll(() => {
  if (ROWS.length === 0) return
  const tarball = releasePackage(folder)
  tarballs = {with: tarball, without: withoutPrebuilds(tarball, join(folder, 'without'))}
})
afterAll(() => tellTable(table))

/** A guard against hanging, in ms: registries may be slow, and compilers on a busy machine. */
const PATIENCE = 30 * 60_000

describe('installed', {timeout: PATIENCE}, () => {
  if (!INSTALL) it.skip('by npm run test:install only', () => {})
  for (const row of ROWS) {
    const ready = prepared(row)
    const title = titleOf(row)
    if (typeof ready === 'string') {
      it.skip(`${title}: ${ready}`, () => {})
      table.push([title, 'skipped', '', ready])
    } else {
      it.concurrent(title, ({onTestFinished}) => tried(row, title, onTestFinished))
    }
  }
})

/** Installs, compiles and runs the example, and runs the program. */
async function tried(row: Installation, title: string, atEnd: AtEnd) {
  const line: Row = [title, 'failed', '', '']
  table.push(line)
  const begin = Date.now()
  const project = await install(row, row.prebuilt ? tarballs.with : tarballs.without, atEnd)
  line[2] = `${((Date.now() - begin) / 1000).toFixed(0)} s`
  expect(project.added.status, project.added.said).toBe(0)

  const compiled = await project.exec('tsc', '-p', '.')
  expect(compiled.status, compiled.said).toBe(0)
  const example = await project.node('main.js')
  const backend = backendOf(row)
  expect(example.said).toContain(`${backend} [ 1, 8, 512, 64 ]`)

  await expectProgram(project, backend, row.manager)
  if (row.manager === npm12 && row.compiler) await expectApproval(project)
  const built = existsSync(join(project.folder, 'node_modules', 'rfa', 'build'))
  expect(built).toBe(!row.prebuilt && row.compiler)
  line.splice(1, 3, 'works', line[2], `${backend}${built ? ', built here' : ''}`)
}

type Project = Awaited<ReturnType<typeof install>>

async function expectProgram({exec}: Project, backend: string, {refusesRuns}: Manager) {
  const version = await exec('rfa', '--version')
  expect(version.said).toMatch(/rfa\/\d+\.\d+\.\d+ linux-/)
  const doctor = await exec('rfa', 'doctor')
  expect(doctor.said).toMatch(backend === 'native' ? /ok +native/ : /missing +native/)
  expect(doctor.said).toMatch(/ok +wasm/)
  expect((await exec('rfa', 'methods')).said).toContain('favor-pos')
  expect((await exec('rfa', 'completion', 'bash')).said).toContain('complete ')
  const sweep = await exec('rfa', 'error-sweep', '--quick')
  if (refusesRuns) return expect(sweep.said).toContain('got Method not implemented')
  expect(sweep.status, sweep.said).toBe(0)
  expect(sweep.said).toMatch(/\d+ cells in /)
}

/** With npm 12, what the README says of install scripts. */
async function expectApproval({manage, exec}: Project) {
  const approved = await manage('approve-scripts', 'rfa')
  expect(approved.status, approved.said).toBe(0)
  const rebuilt = await manage('rebuild', 'rfa')
  expect(rebuilt.status, rebuilt.said).toBe(0)
  expect((await exec('rfa', 'doctor')).said).toMatch(/ok +native/)
}
