import {describe, expect, it} from 'vitest'
import {trainReport} from '../../../../../src/experiments/train/report/report.js'
import {trainScreen, trainSentences} from '../../../../../src/experiments/train/report/screen.js'
import {SCREEN_LINES, screenLines} from '../../../../../src/report/screen.js'
import {renderTerminal} from '../../../../../src/report/terminal.js'
import type {TrainTask} from '../../../../../src/tasks/index.js'
import {trainRecordOf} from '../../../../helpers/train-records.js'

const METHODS = {
  softmax: [0.999, 1, 0.998],
  'rfa-gate': [0.97, 0.98, 0.99],
  rfa: [0.96, 0.97, 0.961],
  elu: [0.95, 0.955, 0.944],
  'favor-pos': [0.51, 0.52, 0.5],
  taylor: [0.5, null, 0.51],
}
const RATES = [1e-3, 4e-3, 1.6e-2]
const TEXTS = {path: 'book.txt', digest: 'abc'}
const RECALL: TrainTask = {
  ...{name: 'mqar', length: 64, vocabulary: 256, pairs: 8, power: 0.01, filled: true},
}
const DRAWN = new Set(['rfa', 'rfa-gate', 'favor-pos'])

function records(task: TrainTask = RECALL, rates: readonly number[] = RATES) {
  return Object.entries(METHODS).flatMap(([method, accuracies]) =>
    rates.flatMap((rate, at) =>
      accuracies.map((accuracy, run) =>
        trainRecordOf({
          ...{method, rate, run, bits: 3 - run / 10},
          accuracy: accuracy === null ? null : accuracy - (at === 1 ? 0 : 0.01),
          cell: {
            task,
            ...(DRAWN.has(method) && {projection: 'orth' as const, num_features: 32}),
            ...(method === 'taylor' && {key_dim: 4}),
            ...(method.startsWith('rfa') && {options: {denGuard: 'clamp:1'}}),
          },
          result: {
            ...(method === 'softmax' && {state_grows: true, state_floats: 8192}),
            ...(task.name === 'chars' && {plateau: null, left_plateau: null}),
          },
        }),
      ),
    ),
  )
}

describe('the screen of a training', () => {
  it.each([
    ['recall', records()],
    ['characters', records({name: 'chars', length: 128, texts: TEXTS})],
    ['copying', records({name: 'copy', length: 64, vocabulary: 16, data: 8})],
    ['two numbers of pairs', [...records(), ...records({...RECALL, pairs: 16} as TrainTask)]],
    ['one rate', records(RECALL, [4e-3])],
  ])('fits for %s', (_, all) => {
    const blocks = trainScreen(all)
    expect(screenLines(blocks)).toBeLessThanOrEqual(SCREEN_LINES)
    expect(renderTerminal(blocks, {width: 80, colour: false})).toMatchSnapshot()
  })

  it('has the rest in its report', () => {
    const some = records().filter(({cell}) => cell.method === 'taylor' || cell.method === 'elu')
    expect(renderTerminal(trainReport(some), {width: 120, colour: false})).toMatchSnapshot()
  })

  it('gives no verdict where a method had one rate', () => {
    const sentences = trainSentences(records(RECALL, [4e-3])).join(' ')
    expect(sentences).toContain('Only one learning rate was tried')
    expect(sentences).not.toContain('Worse')
  })

  it('says of every method in how many runs it left the plateau, of every task', () => {
    const said = trainSentences(records()).join(' ')
    expect(said).toContain(
      'Beyond the plateau of 50.0 %: softmax, rfa-gate, rfa, elu with all seeds; favor-pos, taylor with none.',
    )
    const two = [...records(), ...records({...RECALL, pairs: 16} as TrainTask)]
    expect(trainSentences(two).join(' ')).toContain(
      '16 pairs: beyond the plateau of 50.0 %: softmax',
    )
    const some = [0.986, 0.99, 0.5].map((accuracy, run) =>
      trainRecordOf({method: 'elu', rate: 1e-3, run, accuracy}),
    )
    expect(trainSentences(some).join(' ')).toContain(
      'Beyond the plateau of 50.0 %: elu with 2 of 3.',
    )
  })

  it('prints no guard that nobody typed', () => {
    const text = renderTerminal(trainScreen(records()), {width: 120, colour: false})
    expect(text).not.toContain('denGuard')
    const report = renderTerminal(trainReport(records()), {width: 120, colour: false})
    expect(report).toContain('Guards on denominators (denGuard): ')
  })

  it('names runs that diverged, and gives a method no score where all of them did', () => {
    const made = (method: string, accuracies: readonly (number | null)[]) =>
      accuracies.map((accuracy, run) => trainRecordOf({method, rate: 4e-3, run, accuracy}))
    const some = [...made('softmax', [0.99, null]), ...made('elu', [null, null])]
    const said = trainSentences(some).join(' ')
    expect(said).toContain('Best test accuracy: softmax')
    expect(said).toContain('as the worst score: softmax 1 of 2 runs, elu 2 of 2 runs.')
    expect(said).not.toMatch(/plateau .*elu/)
    expect(renderTerminal(trainScreen(some), {width: 80, colour: false})).toMatch(/^elu +- +- /m)
    expect(trainSentences(made('elu', [null, null]))[0]).toMatch(/^Every run diverged: /)
  })

  it('says what is missing where nothing was trained', () => {
    const [record] = records()
    const {result: _, ...rest} = record!
    const failed = {...rest, status: 'failed', error: {code: 'X', message: 'no memory'}} as const
    expect(trainSentences([failed])).toEqual([])
    expect(renderTerminal(trainScreen([failed]), {width: 80, colour: false})).toContain(
      'softmax failed: no memory (X) [1 cell]',
    )
    expect(trainReport([failed])).toHaveLength(1)
  })
})
