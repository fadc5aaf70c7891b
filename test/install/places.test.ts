/** The packed package in places other than a plain project; npm that comes with this Node. `npm run test:install`. */
import {chmodSync, existsSync, mkdirSync, readdirSync, statSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {beforeAll, describe, expect, it, onTestFinished} from 'vitest'
import {newFolder, temporaryFolder} from '../helpers/folders.js'
import {newProject, run} from './projects.js'
import {INSTALL, releasePackage} from './release.js'
import {environment, machineIsRoot, NOBODY} from './tools.js'

const folder = temporaryFolder()
let tarball: string
let env: NodeJS.ProcessEnv
beforeAll(() => {
  if (!INSTALL) return
  tarball = releasePackage(folder)
  env = {...environment(process.execPath, true), npm_config_prefer_offline: 'true'}
})

/** Runs a command that must succeed, and returns what it said. */
async function succeed(words: string[], cwd: string, as?: number): Promise<string> {
  const {status, said} = await run(words, cwd, env, as)
  expect(status, `${words.join(' ')}\n${said}`).toBe(0)
  return said
}

const ENGINE = '@tensorflow/tfjs-node'

/** Sizes of all files below a folder. */
function bytesIn(place: string): number {
  const entries = readdirSync(place, {recursive: true, withFileTypes: true})
  const files = entries.filter(entry => entry.isFile())
  return files.reduce((sum, {parentPath, name}) => sum + statSync(join(parentPath, name)).size, 0)
}

/** A guard against hanging, in ms: registries may be slow. */
const PATIENCE = 30 * 60_000

describe.runIf(INSTALL)('the packed package', {timeout: PATIENCE}, () => {
  it('works below a path with spaces and letters of other scripts, from folders that may not be written', async () => {
    const project = newProject(onTestFinished, 'mein Projekt – 注意 (1)')
    await succeed(['npm', 'install', tarball], project)
    chmodSync(dirname(project), 0o755)
    if (!machineIsRoot) await succeed(['chmod', '-R', 'a-w', 'node_modules'], project)
    const elsewhere = await newFolder()
    chmodSync(elsewhere, 0o777)
    const program = ['node', join(project, 'node_modules', 'rfa', 'bin', 'run.js')]
    const as = machineIsRoot ? NOBODY : undefined
    expect(await succeed([...program, 'doctor'], elsewhere, as)).toMatch(/ok +native/)
    const swept = await succeed([...program, 'error-sweep', '--quick'], elsewhere, as)
    expect(swept).toMatch(/\d+ cells in /)
    expect(readdirSync(join(elsewhere, 'results'))).toHaveLength(1)
    if (!machineIsRoot) await succeed(['chmod', '-R', 'u+w', 'node_modules'], project)
  })

  it('brings no engine, nothing that only that needs, and at most 130 MB; the engine is one command more', async () => {
    const project = newProject(onTestFinished)
    const modules = join(project, 'node_modules')
    await succeed(['npm', 'install', tarball], project)
    const names = ['tar', 'rimraf', 'glob', 'inflight', 'core-js', '@mapbox', ENGINE]
    expect(names.filter(name => existsSync(join(modules, name)))).toEqual([])
    // of files: what their blocks take depends on the file system; pdfkit and its fonts are 22 MB of it
    expect(bytesIn(modules)).toBeLessThan(130e6)
    const doctor = async () =>
      (await succeed(['npx', '--no', 'rfa', 'doctor', '--details'], project)).replace(/\s+/g, ' ')
    expect(await doctor()).toContain(`npm install ${ENGINE}@4.22.0`)

    // without its script, which downloads the library from elsewhere
    await succeed(['npm', 'install', '--ignore-scripts', `${ENGINE}@4.22.0`], project)
    expect(await doctor()).toContain(`${ENGINE} is installed but its native addon is not`)
  })

  it('works installed for all projects', async () => {
    const prefix = await newFolder()
    await succeed(['npm', 'install', '--global', '--prefix', prefix, tarball], prefix)
    const program = join(prefix, 'bin', 'rfa')
    expect(await succeed([program, '--version'], prefix)).toMatch(/^rfa\//)
    expect(await succeed([program, 'doctor'], prefix)).toMatch(/ok +native/)
  })

  it('works without being installed, and without a network once npm has seen its dependencies', async () => {
    const away = await newFolder()
    mkdirSync(join(away, 'empty'))
    const once = ['npm', 'exec', '--yes', '--offline', `--package=${tarball}`, '--', 'rfa']
    const empty = join(away, 'empty')
    expect(await succeed([...once, 'methods', 'rfa'], empty)).toContain('Peng')
    const project = newProject(onTestFinished)
    await succeed(['npm', 'install', '--offline', tarball], project)
    expect(await succeed(['npx', '--no', 'rfa', 'doctor'], project)).toMatch(/ok +native/)
  })
})
