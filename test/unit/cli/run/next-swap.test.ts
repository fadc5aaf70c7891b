import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/names.js'
import {parseOptionAssignment} from '../../../../src/cli/flags/kinds.js'
import {type BenchFlags, toBenchPlan} from '../../../../src/cli/plans/bench.js'
import type {EstimatorFacts} from '../../../../src/cli/plans/method-specs.js'
import {type PretrainedFacts, pretrained} from '../../../../src/cli/plans/swap-files.js'
import {nextSwap} from '../../../../src/cli/run/next-swap.js'
import type {ExperimentRun} from '../../../../src/runner/folder/finished-run.js'
import {BENCH_MANIFEST, modelTimes} from '../../../helpers/records/bench.js'

let estimators: EstimatorFacts
let charlm: PretrainedFacts
beforeAll(async () => {
  estimators = await loadEstimators()
  charlm = await pretrained({model: 'fixtures/charlm'})
})

/** A run of the plan that flags make, and its next line. @param named - the flags that are known of it. Default: all */
function lineOf(typed: Partial<BenchFlags>, named: Partial<BenchFlags> = typed): string[] {
  const flags = {quick: true, exact: true, breakdown: false, ...typed}
  const plan = toBenchPlan(flags, estimators, undefined, undefined, charlm)
  const drawn = {projection: plan.projections[0]!, num_features: 64}
  const times = modelTimes([0, 1, 2, 3], {rfa: 80}, drawn)
  const records: ExperimentRun['records'] = times
  return nextSwap({manifest: {...BENCH_MANIFEST, plan}, records}, 'rfa', named)
}

describe('what to do after a model was timed', () => {
  it('names its methods with their forms and draws', () => {
    const option = ['rfa.tau=0.5,1', 'denGuard=none'].map(text => parseOptionAssignment(text, '-'))
    expect(lineOf({methods: ['rfa', 'favor-pos']})).toEqual([
      'next: rfa swap --methods rfa,favor-pos --num-features 64 (what it loses)',
    ])
    const typed = {methods: ['softmax', 'rfa'], preset: ['noahs-ark' as const], option}
    const drawn = {projections: ['iid' as const], 'orth-sign': 'raw' as const}
    expect(lineOf({...typed, ...drawn, layers: '0,2'})).toEqual([
      'next: rfa swap --layers 0,2 --methods rfa --preset noahs-ark --option rfa.tau=0.5,1 --option denGuard=none --projections iid --orth-sign raw --num-features 64 (what it loses)',
    ])
  })

  it('is left out where a form cannot be named', () => {
    expect(lineOf({methods: ['rfa'], preset: ['noahs-ark']}, {})).toEqual([])
    expect(lineOf({methods: ['softmax']})).toEqual([])
  })
})
