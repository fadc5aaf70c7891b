#!/usr/bin/env node
// Predicted against measured error of attention, over layers of trained models in both directions; and what predictions take.
// npm run bench:error-predictions -- [FILTER] [--cache FOLDER] [--json]: FILTER names a part of an input, e.g. minilm;
// measured errors are kept in FOLDER, and read from there.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {parseArgs} from 'node:util'
import {useBackend} from '../src/backends/index.js'
import {errorAt} from '../src/experiments/error-sweep/curve.js'
import {contextOf} from '../src/experiments/error-sweep/measure/context.js'
import {predictedCurves} from '../src/experiments/error-sweep/measure/predicted.js'
import {targetOf} from '../src/experiments/error-sweep/measure/truth.js'
import type {ErrorSweepCell, ErrorSweepRecord} from '../src/experiments/error-sweep/schema.js'
import {variantLabel} from '../src/experiments/labels.js'
import {resolveMethod} from '../src/experiments/method.js'
import {planRun} from '../src/experiments/planned-run.js'
import {groupBy} from '../src/report/groups.js'
import {type Case, INPUTS, TIMED} from './error-prediction-plans.js'
import {errorPredictionsText, type Judged, type Times} from './error-prediction-table.js'

/** One cell, all heads together. */
interface Compared {
  scale: number
  label: string
  measured: number
  predicted: number | null
}

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {json: {type: 'boolean', default: false}, cache: {type: 'string'}},
})
await useBackend('auto')
const compared: Compared[] = []
for (const input of INPUTS) {
  if (positionals[0] && !input.name.includes(positionals[0])) continue
  process.stderr.write(`${input.name}\n`)
  compared.push(...(await comparedOf(input)))
}
const report = {
  scales: groupBy(compared, ({scale}) => `${scale}`).map(judged),
  times: [] as Times[],
}
// one after the other: the time is that of the process
for (const input of positionals[0] ? [] : TIMED) report.times.push(await timesOf(input))
process.stdout.write(
  `${values.json ? JSON.stringify(report, null, 1) : errorPredictionsText(report.scales, report.times)}\n`,
)

async function comparedOf(input: Case): Promise<Compared[]> {
  const {experiment, jobs} = await planRun(input.plan)
  const cells = jobs.map(({cell}) => cell as ErrorSweepCell)
  const cache = cacheOf(input)
  const found: Compared[] = []
  for (const cell of cells) {
    const label = `${input.name} ${variantLabel(cell)}`
    const place = `${label} scale ${cell.scale}`
    if (cache.errors[place] === undefined) {
      const record = {cell, ...(await experiment.run(cell, {}))} as ErrorSweepRecord
      if (record.status !== 'completed') throw new Error(`${place}: ${record.status}`)
      cache.errors[place] = record.result.rel_l2.median!
      cache.save()
    }
    const predicted = await predictedOf(cell)
    found.push({scale: cell.scale, label, measured: cache.errors[place], predicted})
  }
  return found
}

async function predictedOf(cell: ErrorSweepCell): Promise<number | null> {
  const method = await resolveMethod(cell)
  const curves = predictedCurves(cell, method, await contextOf(cell, targetOf(cell, method)))
  return curves ? errorAt(curves.all, cell.num_features!) : null
}

/** Measured errors by cell. */
function cacheOf({name}: Case) {
  const file = values.cache === undefined ? undefined : join(values.cache, `${name}.json`)
  const errors: Record<string, number> = {}
  if (file) {
    mkdirSync(values.cache!, {recursive: true})
    try {
      Object.assign(errors, JSON.parse(readFileSync(file, 'utf8')))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  const save = () => file && writeFileSync(file, JSON.stringify(errors, null, 1))
  return {errors, save}
}

function judged(own: readonly Compared[]): Judged {
  const known = own.flatMap(({predicted, measured, label}) =>
    predicted === null ? [] : [{label, log: Math.log10(predicted / measured)}],
  )
  const mean = (of: readonly number[]) => of.reduce((sum, x) => sum + x, 0) / of.length
  const worst = known.reduce((a, b) => (Math.abs(b.log) > Math.abs(a.log) ? b : a))
  return {
    scale: own[0]!.scale,
    cells: own.length,
    rmse: Math.sqrt(mean(known.map(({log}) => log ** 2))),
    mean: mean(known.map(({log}) => log)),
    worst: Math.abs(worst.log),
    worstCell: worst.label,
    withheld: 1 - known.length / own.length,
  }
}

/** Processor time of the prediction alone: of all threads, whatever else runs. */
async function timesOf({name, plan}: Case): Promise<Times> {
  const [job] = (await planRun(plan)).jobs
  const cell = job!.cell as ErrorSweepCell
  const {input} = await contextOf(cell, targetOf(cell, await resolveMethod(cell)))
  const before = process.cpuUsage()
  await predictedOf(cell)
  const {user, system} = process.cpuUsage(before)
  return {name, cpuSecondsPerHead: (user + system) / 1e6 / input.query.shape[1]}
}
