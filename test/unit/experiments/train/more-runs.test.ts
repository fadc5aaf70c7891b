import {describe, expect, it} from 'vitest'
import {enlarged} from '../../../../src/experiments/train/more-runs.js'
import type {TrainPlan} from '../../../../src/experiments/train/schema.js'
import {trainCellOf, trainRecordOf} from '../../../helpers/train-records.js'

const {task, model, steps, batch, held_out, redraw, seed, backend} = trainCellOf()
const PLAN: TrainPlan = {
  experiment: 'train',
  ...{tasks: [task], model, steps, batch, held_out, redraw, seed, backend},
  methods: [{method: 'softmax', preset: 'exact', options: {}}],
  ...{
    projections: ['orth'],
    orth_sign: 'haar',
    num_features: [8],
    rates: [4e-3],
    runs: 3,
    key_dims: {default: 8},
  },
}
const RULE = {relative_half_width: 0.1, max_replicates: 5}

/** Three runs of a method. */
const runsOf = (method: string, scores: (number | null)[]) =>
  scores.map((accuracy, run) => trainRecordOf({method, rate: 4e-3, run, accuracy}))

const NARROW = runsOf('softmax', [0.9, 0.91, 0.92])
const WIDE = runsOf('elu', [0.5, 0.7, 0.9])

describe('runs until intervals are narrow enough', () => {
  it('double, up to the most, while the interval of any method is too wide', async () => {
    const records = [...NARROW, ...WIDE]
    expect(await enlarged({...PLAN, until_ci: RULE}, records)).toMatchObject({runs: 5})
    const more = {...RULE, max_replicates: 20}
    expect(await enlarged({...PLAN, until_ci: more}, records)).toMatchObject({runs: 6})
    expect(await enlarged({...PLAN, runs: 5, until_ci: RULE}, records)).toBeUndefined()
  })

  it('are enough where all are narrow, or nothing was asked for', async () => {
    expect(await enlarged({...PLAN, until_ci: RULE}, NARROW)).toBeUndefined()
    expect(await enlarged(PLAN, WIDE)).toBeUndefined()
  })

  it('do not wait for methods that diverge in every run', async () => {
    const diverged = runsOf('rfa', [null, null, null])
    expect(await enlarged({...PLAN, until_ci: RULE}, [...NARROW, ...diverged])).toBeUndefined()
    expect(await enlarged({...PLAN, until_ci: RULE}, diverged)).toBeUndefined()
    const one = runsOf('rfa', [0.9, 0.9, null])
    expect(await enlarged({...PLAN, until_ci: RULE}, [...NARROW, ...one])).toMatchObject({runs: 5})
  })
})
