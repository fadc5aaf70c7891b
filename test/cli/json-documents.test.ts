import {writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {beforeEach, describe, expect, it, vi} from 'vitest'
import {z} from 'zod'
import Apply from '../../commands/apply.js'
import Bench from '../../commands/bench.js'
import Check from '../../commands/check.js'
import Doctor from '../../commands/doctor.js'
import ErrorSweep from '../../commands/error-sweep.js'
import Methods from '../../commands/methods.js'
import Report from '../../commands/report.js'
import Slurm from '../../commands/slurm.js'
import Variance from '../../commands/variance.js'
import {jsonSchemas} from '../../src/cli/json-schemas.js'
import {services} from '../../src/cli/program/services.js'
import {allExperiments, EXPERIMENT_NAMES} from '../../src/experiments/index.js'
import {writeArrays} from '../../src/inputs/files/index.js'
import {tableFacts} from '../../src/report/fields.js'
import {temporaryFolder} from '../helpers/folders.js'
import {BENCH_MANIFEST, BENCH_PLAN, timed} from '../helpers/records/bench.js'
import {failedSweep, skippedSweep, sweep} from '../helpers/records/error-sweep.js'
import {variance} from '../helpers/records/variance.js'
import {answerWith, run, runner} from './services.js'

const schemas = (await jsonSchemas()) as Record<string, z.core.JSONSchema.JSONSchema>

beforeEach(() => {
  vi.clearAllMocks()
})

/** What a command prints under `--json`, held against the schema of that name. */
async function printed(schema: string, command: unknown, id: string, argv: string[]) {
  const {stdout} = await run(command, id, [...argv, '--json'])
  const document = JSON.parse(stdout)
  const parsed = z.fromJSONSchema(schemas[`${schema}.schema.json`]!).safeParse(document)
  expect(parsed.error?.issues).toBeUndefined()
  return document
}

describe('under --json every command prints what its schema says', () => {
  const folder = temporaryFolder()

  it.each([
    ['error-sweep', ErrorSweep],
    ['bench', Bench],
    ['variance', Variance],
  ])('%s --dry-run', async (id, command) => {
    const document = await printed('dry-run', command, id, ['--quick', '--dry-run'])
    expect(document).toMatchObject({schema: 'rfa.dry-run/1', plan: {experiment: id}})
    expect(document.cell_labels).toHaveLength(document.cells)
  })

  it.each([
    ['error-sweep', ErrorSweep, [sweep(), failedSweep('X', 'y'), skippedSweep('no')]],
    ['bench', Bench, [timed()]],
    ['variance', Variance, [variance()]],
  ])('%s', async (id, command, records) => {
    answerWith(...records)
    const document = await printed('finished-run', command, id, ['--quick'])
    expect(document).toMatchObject({schema: 'rfa.finished-run/1', counts: {total: records.length}})
  })

  it.each([
    ['methods', []],
    ['methods', ['favor-pos']],
    ['methods', ['--preset', 'hku']],
    ['projections', ['--projections']],
  ])('methods as %s %j', async (name, argv) => {
    const document = await printed(name, Methods, 'methods', argv)
    expect(document.schema).toBe(`rfa.${name}/1`)
    expect(document[name].length).toBeGreaterThan(0)
  })

  it('slurm', async () => {
    const plan = join(folder, 'slurm-plan.json')
    await writeFile(plan, JSON.stringify(BENCH_PLAN))
    const argv = [plan, '--shards', '1', '--output', join(folder, 'slurm')]
    const document = await printed('slurm', Slurm, 'slurm', argv)
    expect(document).toMatchObject({schema: 'rfa.slurm/1', shards: 1, jobs: null})
  })

  it('methods as fields', async () => {
    const {tables} = await printed('fields', Methods, 'methods', ['--records'])
    const owners = tables.map((own: {experiment: string}) => own.experiment)
    expect([...new Set(owners)]).toEqual([...EXPERIMENT_NAMES, 'claims', 'compare', 'history'])
    const ofExperiments = (await allExperiments()).flatMap(tableFacts)
    expect(tables.slice(0, ofExperiments.length)).toMatchObject(
      ofExperiments.map(({file}) => ({file})),
    )
  })

  it('check', async () => {
    const base = {check: 'shapes', group: 'shapes', tried: ['causal']} as const
    runner.checkEstimator.mockResolvedValue([
      {...base, status: 'passed', measured: 1e-7, bound: 1e-5, finding: 'to the bit'},
      {...base, status: 'failed', finding: 'element 3 is NaN', advice: 'phi'},
    ])
    const document = await printed('check', Check, 'check', ['elu', 'rfa'])
    expect(document).toMatchObject({schema: 'rfa.check/1', passed: false})
  })

  it('doctor', async () => {
    const document = await printed('doctor', Doctor, 'doctor', [])
    expect(document).toMatchObject({schema: 'rfa.doctor/1'})
  })

  it('report', async () => {
    const record = timed()
    runner.openRun.mockResolvedValue({manifest: BENCH_MANIFEST, records: [record]})
    runner.readPlan.mockResolvedValue(BENCH_MANIFEST.plan)
    runner.planKeys.mockResolvedValue([record.key])
    await printed('report', Report, 'report', [folder])
    runner.planKeys.mockResolvedValue(['another'])
    const {runs} = await printed('report', Report, 'report', [folder])
    expect(runs).toMatchObject([{cells: null}])
  })

  it('apply', async () => {
    const input = join(folder, 'in.npz')
    const array = {shape: [5, 7], dtype: 'float32' as const, data: new Float32Array(35).fill(0.5)}
    await writeArrays(input, {q: array, k: array, v: array})
    runner.applyEstimator.mockImplementation(services.applyEstimator)
    const argv = ['--method', 'favor-pos', '--backend', 'cpu', '--input', input]
    const output = join(folder, 'out.npz')
    const document = await printed('apply', Apply, 'apply', [...argv, '--output', output])
    expect(document).toMatchObject({schema: 'rfa.apply/2', arrays: [{shape: [1, 1, 5, 7]}]})
  })

  it('an error', async () => {
    const document = await printed('error', Methods, 'methods', ['favor-pso'])
    expect(document).toMatchObject({schema: 'rfa.error/1', error: {code: 'UNKNOWN_NAME', exit: 2}})
    await printed('error', Bench, 'bench', ['--no-such-flag'])
  })
})
