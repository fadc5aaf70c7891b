/**
 * Predicted against measured error of attention, over layers of trained models in both directions, and what predictions take.
 * Words are parts of inputs, e.g. minilm; measured errors are kept in the folder `--cache`, and read from there.
 */
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {useBackend} from '../../src/backends/index.js'
import {errorAt} from '../../src/experiments/error-sweep/curve.js'
import {contextOf} from '../../src/experiments/error-sweep/measure/context.js'
import {predictedCurves} from '../../src/experiments/error-sweep/measure/predicted.js'
import {targetOf} from '../../src/experiments/error-sweep/measure/truth.js'
import type {
  ErrorSweepCell,
  ErrorSweepPlan,
  ErrorSweepRecord,
} from '../../src/experiments/error-sweep/schema.js'
import {variantLabel} from '../../src/experiments/labels.js'
import {resolveMethod} from '../../src/experiments/method.js'
import {planRun} from '../../src/experiments/planned-run.js'
import {packageRoot} from '../../src/package.js'
import {groupBy} from '../../src/report/groups.js'
import {mean} from '../../src/stats/index.js'
import {type Named, sweep} from './plans.js'
import {type Calibration, each} from './run.js'

/** Layers of trained models: those that tests know, then those that only this comparison reads. */
const LAYERS = [
  ...['fixtures/charlm-layer0', 'fixtures/charlm-layer3'],
  ...['fixtures/minilm-layer1', 'fixtures/minilm-layer5'],
  ...['bench/layers/minilm-layer0', 'bench/layers/minilm-layer3'],
]

const PROJECTIONS: Pick<ErrorSweepPlan, 'projections' | 'targets' | 'replicates' | 'backend'> = {
  ...{projections: ['iid', 'orth'], targets: ['raw'], replicates: 6, backend: 'auto'},
}

/** A sweep of each layer, in one direction. */
function ofLayers(
  prefix: string,
  causal: boolean,
  methods: string,
  changes: Partial<ErrorSweepPlan>,
): Named<ErrorSweepPlan>[] {
  const names = {query: 'q', key: 'k', value: 'v'}
  return LAYERS.map(file => {
    const paths = [join(packageRoot(), `${file}.safetensors`)]
    const {plan} = sweep(methods, {
      ...{...PROJECTIONS, input: {kind: 'file', paths, names}, seq_lens: null, causal},
      ...changes,
    })
    return {name: `${prefix}${file.split('/').at(-1)}${causal ? '-causal' : ''}`, plan}
  })
}

const POSITIVE = {num_features: [16, 64, 256, 1024, 4096], scales: [0.25, 0.5, 1, 2]}
const INPUTS = [
  ...ofLayers('', false, 'favor-pos oprf', POSITIVE),
  // replicates of causal attention are what takes longest
  ...ofLayers('', true, 'favor-pos', POSITIVE),
]

/** Sines and cosines, at norms where their denominators have a sign. */
const SINES = [false, true].flatMap(causal =>
  ofLayers('sines-', causal, 'favor-trig rfa', {
    ...{num_features: [16, 64, 256, 1024], scales: [0.25, 0.5, 1], targets: ['matched']},
  }),
)

/** Proposals, which are bidirectional. */
const PROPOSALS = ofLayers('proposals-', false, 'lara', {
  ...{num_features: [16, 49, 128], scales: [0.25, 0.5, 1], replicates: 20},
})

/** Heads of 64 dimensions at 1024 tokens, of large norms. */
const TIMED = [false, true].map(causal =>
  sweep('favor-pos', {
    ...{heads: 2, num_features: [4096], seq_lens: [1024], scales: [2], targets: ['raw'], causal},
  }),
)

/** One cell, all heads together. */
interface Compared {
  scale: number
  label: string
  measured: number
  predicted: number | null
}

export default (async (words, {cache}) => {
  await useBackend('auto')
  const of = (inputs: readonly Named<ErrorSweepPlan>[]) =>
    each(inputs, words, input => comparedOf(input, cache))
  const [compared, sines, proposals] = [await of(INPUTS), await of(SINES), await of(PROPOSALS)]
  // one after the other: the time of the process is measured
  const times = words.length > 0 ? [] : await each(TIMED, [], timeOf)
  const judgedBy = (own: readonly Compared[], what: string) =>
    groupBy(own, ({scale}) => `${scale}`).map(cells => ({features: what, ...judged(cells)}))
  const positive = judgedBy(compared.flat(), 'positive')
  const others = [
    ...judgedBy(sines.flat(), 'sines and cosines'),
    ...judgedBy(proposals.flat(), 'proposals'),
  ]
  return {rows: [...positive, ...others, ...times]}
}) satisfies Calibration

async function comparedOf(
  {name, plan}: Named<ErrorSweepPlan>,
  folder: string | undefined,
): Promise<Compared[]> {
  const {experiment, jobs} = await planRun(plan)
  const errors = keptErrors(folder === undefined ? undefined : join(folder, `${name}.json`))
  const found: Compared[] = []
  for (const job of jobs) {
    const cell = job.cell as ErrorSweepCell
    const label = `${name} ${variantLabel(cell)}`
    const measured = await errors(`${label} scale ${cell.scale}`, async place => {
      const record = {cell, ...(await experiment.run(cell, {}))} as ErrorSweepRecord
      if (record.status !== 'completed') throw new Error(`${place}: ${record.status}`)
      return record.result.rel_l2.median!
    })
    found.push({scale: cell.scale, label, measured, predicted: await predictedOf(cell)})
  }
  return found
}

async function predictedOf(cell: ErrorSweepCell): Promise<number | null> {
  const method = await resolveMethod(cell)
  const curves = predictedCurves(cell, method, await contextOf(cell, targetOf(cell, method)))
  return curves ? errorAt(curves.all, cell.num_features!) : null
}

/** Measured errors by cell, kept in a file if there is one. */
function keptErrors(file: string | undefined) {
  const errors: Record<string, number> = {}
  if (file) {
    mkdirSync(join(file, '..'), {recursive: true})
    try {
      Object.assign(errors, JSON.parse(readFileSync(file, 'utf8')))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return async (place: string, measure: (place: string) => Promise<number>): Promise<number> => {
    const known = errors[place]
    if (known !== undefined) return known
    const error = await measure(place)
    errors[place] = error
    if (file) writeFileSync(file, JSON.stringify(errors, null, 1))
    return error
  }
}

/** Cells of one scale: sizes of log10 of predicted over measured rel L2, over all heads of a cell. */
function judged(own: readonly Compared[]) {
  const known = own.flatMap(({predicted, measured, label}) =>
    predicted === null ? [] : [{label, log: Math.log10(predicted / measured)}],
  )
  const logs = known.map(({log}) => log)
  const size = {scale: own[0]!.scale, cells: own.length}
  if (known.length === 0) return {...size, 'withheld %': 100}
  const worst = known.reduce((a, b) => (Math.abs(b.log) > Math.abs(a.log) ? b : a))
  return {
    ...size,
    'RMSE of log10': Math.sqrt(mean(logs.map(log => log ** 2))),
    ...{mean: mean(logs), worst: Math.abs(worst.log), 'worst cell': worst.label},
    'withheld %': 100 * (1 - known.length / own.length),
  }
}

/** Processor time of the prediction alone: of all threads, whatever else runs. */
async function timeOf({plan}: Named<ErrorSweepPlan>) {
  const [job] = Array.from((await planRun(plan)).jobs)
  const cell = job!.cell as ErrorSweepCell
  const {input} = await contextOf(cell, targetOf(cell, await resolveMethod(cell)))
  const before = process.cpuUsage()
  await predictedOf(cell)
  const {user, system} = process.cpuUsage(before)
  const seconds = (user + system) / 1e6 / input.query.shape[1]
  return {
    ...{scale: cell.scale, cells: 1},
    'CPU s of a head, L=1024 D=64': seconds,
    direction: cell.causal ? 'causal' : 'bidirectional',
  }
}
