import {describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/names.js'
import {type TrainFlags, toTrainPlan} from '../../../../src/cli/plans/train.js'
import {trainTexts} from '../../../../src/cli/plans/train-texts.js'
import {TRAIN_FLAGS} from '../../../helpers/flags.js'

const estimators = await loadEstimators()
const planOf = (flags: Partial<TrainFlags> = {}) =>
  toTrainPlan({...TRAIN_FLAGS, ...flags}, estimators)

describe('the plan of a training', () => {
  it('gives every method the same rates, and all sizes of task and model', () => {
    const {tasks, rates, runs, model, steps, batch} = planOf()
    expect(tasks).toEqual([
      {name: 'mqar', length: 64, vocabulary: 256, pairs: 8, power: 0.01, filled: true},
    ])
    expect({rates, runs, steps, batch}).toEqual({
      ...{rates: [1e-3, 4e-3, 1.6e-2], runs: 3, steps: 600, batch: 32},
    })
    expect(model).toEqual({
      ...{layers: 1, width: 64, heads: 1, mlp: 0, convolution: 3, positions: false},
    })
  })

  it('has a task for each number of pairs', () => {
    const {tasks} = planOf({pairs: [[4], [8, 16]]})
    expect(tasks.map(task => 'pairs' in task && task.pairs)).toEqual([4, 8, 16])
  })

  it('guards denominators of features that may be negative, unless something else is typed', () => {
    const guards = (flags: Partial<TrainFlags>) =>
      planOf({methods: ['rfa', 'favor-pos', 'softmax'], ...flags}).methods.map(
        ({options}) => options.denGuard,
      )
    expect(guards({})).toEqual(['clamp:1', undefined, undefined])
    // gated sums are averages: a bound of 1 would always act
    expect(guards({methods: ['rfa-gate']})).toEqual(['clamp:0.01'])
    const typed = (value: string) => [{method: 'rfa', name: 'denGuard', value}]
    expect(guards({option: typed('none')})).toEqual([undefined, undefined, undefined])
    expect(guards({option: typed('clamp:0.1')})).toEqual(['clamp:0.1', undefined, undefined])
    expect(guards({preset: ['noahs-ark']})).toEqual([undefined, undefined, undefined])
  })

  it('has D for all methods, for one, or that of values, and a small one for taylor', () => {
    expect(planOf().key_dims).toEqual({default: 64, taylor: 16})
    expect(planOf({'key-dim': [[null, 8]]}).key_dims).toEqual({default: 8})
    expect(planOf({heads: 2, 'key-dim': [['elu', 16]]}).key_dims).toEqual({
      ...{default: 32, taylor: 16, elu: 16},
    })
  })

  it('reads the characters of the package where no text is named', async () => {
    const texts = await trainTexts({})
    const {tasks} = toTrainPlan({...TRAIN_FLAGS, task: 'chars'}, estimators, texts)
    expect(tasks).toEqual([{name: 'chars', length: 128, texts}])
    expect(texts.path).toMatch(/charlm.texts\.txt$/)
  })
})
