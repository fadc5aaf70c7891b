#!/usr/bin/env node
// Predicted against measured error of attention, head by head, over layers of trained models and generated inputs; beside
// it what the norms alone say, fitted on two layers and judged on the others. Nothing of the prediction itself is fitted.
// npm run bench:error-predictions -- [FILTER] [--json]: FILTER names a part of an input, e.g. minilm.
import {parseArgs} from 'node:util'
import type {CompletedSweep, ErrorSweepRecord} from '../src/experiments/error-sweep/schema.js'
import {planRun} from '../src/experiments/planned-run.js'
import {type Case, INPUTS} from './error-prediction-plans.js'
import {carried, type Judged, judge, type Measured, normRules} from './error-prediction-rules.js'
import {errorPredictionsText} from './error-prediction-table.js'

const {values, positionals} = parseArgs({
  allowPositionals: true,
  options: {json: {type: 'boolean', default: false}},
})

const measured: Measured[] = []
for (const input of INPUTS) {
  if (positionals[0] && !input.name.includes(positionals[0])) continue
  process.stderr.write(`${input.name}\n`)
  for (const record of await recordsOf(input)) measured.push(...headsOf(input, record))
}
const report = judgements(measured)
process.stdout.write(
  `${values.json ? JSON.stringify(report, null, 1) : errorPredictionsText(report)}\n`,
)

async function recordsOf({plan}: Case): Promise<CompletedSweep[]> {
  const {experiment, jobs} = await planRun(plan)
  const records: CompletedSweep[] = []
  for (const {cell} of jobs) {
    const outcome = await experiment.run(cell, {})
    const record = {cell, ...outcome} as ErrorSweepRecord
    if (record.status === 'completed') records.push(record)
  }
  return records
}

function headsOf({name, group}: Case, {cell, result}: CompletedSweep): Measured[] {
  return result.per_head.flatMap(own => {
    const {predicted_rel_l2: predicted, rel_l2} = own
    if (predicted === null || !rel_l2 || cell.num_features === null) return []
    return {
      ...{name, group, method: cell.method, projection: cell.projection ?? ''},
      place: `${name} ${cell.causal} ${cell.scale} ${own.head}`,
      numFeatures: cell.num_features,
      measured: rel_l2,
      predicted,
      sumNorm2: own.statistics.sum_norm2,
      varianceLog10: own.needed_num_features_log10,
    }
  })
}

/** By group, method and projection; a rule of norms has none for some methods. */
function judgements(all: readonly Measured[]): Judged[] {
  const rules = normRules(all.filter(({group}) => group === 'fitted'))
  const groups = new Map<string, Measured[]>()
  for (const one of all) {
    for (const method of [one.method, 'all']) {
      const key = JSON.stringify([one.group, method, one.projection])
      groups.set(key, [...(groups.get(key) ?? []), one])
    }
  }
  return [...groups].map(([key, own]) => {
    const [group, method, projection] = JSON.parse(key) as [string, string, string]
    return {
      ...{group, method, projection, points: own.length},
      prediction: judge(own.map(({predicted, measured}) => Math.log10(predicted / measured))),
      carried: judge(carried(own)),
      rule: judge(own.flatMap(rules.rule)),
      regression: judge(own.flatMap(rules.regression)),
    }
  })
}
