import {mkdir, mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import {transformSync} from 'rolldown/utils'
import {packageRoot} from '../../../src/package.js'

/**
 * The experiments of {@link buildRunner}: a cell sleeps `norm` ms, throws when its seed is 666, names its
 * process in the file RFA_TEST_FILE and never ends when it is 667.
 */
const EXPERIMENTS = `
import {writeFileSync} from 'node:fs'
import {RfaError} from '../errors.js'
import variance from './variance/index.js'
async function run(cell) {
  if (cell.seed === 666) throw new RfaError('UNSUPPORTED', 'cell: expected another seed, got 666')
  if (cell.seed === 667) writeFileSync(process.env.RFA_TEST_FILE, String(process.pid))
  while (cell.seed === 667) Math.random()
  await new Promise(resolve => setTimeout(resolve, cell.norm))
  const kernel = 'pid ' + process.pid
  const theory = {expectation: 1, closed_form_variance: 2, closed_form_kurtosis: 1}
  const result = {backend: 'cpu', kernel, feature_dim: 13, ...theory, calibration_pairs: null}
  return {status: 'completed', result: {...result, without_effect: {}, per_projection: []}}
}
const experiment = {...variance, run}
export const experimentNamed = async () => experiment
export const allExperiments = async () => [experiment]
`

/**
 * Translates src/ as it stands into a folder of its own, with experiments that only
 * wait: whole processes are tested without the build, which may be old.
 *
 * @returns the folder, inside node_modules so that dependencies are found; remove it after the tests
 */
export async function buildRunner(): Promise<string> {
  const folder = await mkdtemp(join(packageRoot(), 'node_modules', '.rfa-test-'))
  const names = await readdir(join(packageRoot(), 'src'), {recursive: true})
  for (const name of names.filter(name => name.endsWith('.ts'))) await translate(name, folder)
  await writeFile(join(folder, 'experiments', 'index.js'), EXPERIMENTS)
  return folder
}

export const removeBuilt = (folder: string) => rm(folder, {recursive: true, force: true})

async function translate(file: string, folder: string): Promise<void> {
  const text = await readFile(join(packageRoot(), 'src', file), 'utf8')
  const {code, errors} = transformSync(file, text, {typescript: {onlyRemoveTypeImports: true}})
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`)
  const path = join(folder, file.replace(/\.ts$/, '.js'))
  await mkdir(dirname(path), {recursive: true})
  await writeFile(path, code)
}
