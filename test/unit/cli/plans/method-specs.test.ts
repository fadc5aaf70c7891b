import {beforeAll, describe, expect, it} from 'vitest'
import {loadEstimators} from '../../../../src/attention/estimators/index.js'
import {parseOptionAssignment} from '../../../../src/cli/flags/kinds.js'
import {
  asksEstimators,
  type EstimatorFacts,
  type MethodFlags,
  toMethodSpecs,
} from '../../../../src/cli/plans/method-specs.js'

let estimators: EstimatorFacts
beforeAll(async () => {
  estimators = await loadEstimators()
})

const assigned = (...texts: string[]) => texts.map(text => parseOptionAssignment(text, '--option'))
const specs = (flags: MethodFlags) => toMethodSpecs(flags, ['elu'], estimators)

describe('toMethodSpecs', () => {
  it('falls back to the methods of the grid, in their exact form', () => {
    expect(specs({})).toEqual([{method: 'elu', preset: 'exact', options: {}}])
  })

  it('needs no estimators where no flag asks for what only they know', () => {
    const flags = {methods: ['rfa', 'all']}
    expect(asksEstimators(flags)).toBe(false)
    const full = specs({...flags, preset: ['exact']})
    expect(toMethodSpecs(flags, ['elu'], {})).toEqual(full)
    expect(asksEstimators({...flags, preset: ['exact']})).toBe(true)
    expect(asksEstimators({...flags, option: assigned('tau=0.5')})).toBe(true)
  })

  it('takes every method of the registry for all, each once', () => {
    const names = specs({methods: ['elu', 'all']}).map(({method}) => method)
    expect(names.toSorted()).toEqual(Object.keys(estimators).toSorted())
  })

  it('runs each preset that a method declares, and the exact form of the others', () => {
    expect(
      specs({methods: ['favor-pos', 'elu'], preset: ['exact', 'performer-pytorch']}).map(
        ({method, preset}) => `${method} ${preset}`,
      ),
    ).toEqual(['favor-pos exact', 'favor-pos performer-pytorch', 'elu exact'])
  })

  it('gives an option to every method that declares it, typed by the method', () => {
    const [rfa, elu] = specs({
      methods: ['rfa', 'elu'],
      option: assigned('tau=0.5', 'denGuard=add:1e-6'),
    })
    expect(rfa?.options).toEqual({tau: 0.5, denGuard: 'add:1e-6'})
    expect(elu?.options).toEqual({denGuard: 'add:1e-6'})
  })

  it('lets an option of one method win over the one for all', () => {
    const options = specs({
      methods: ['rfa', 'elu'],
      option: assigned('rfa.denGuard=none', 'denGuard=add:1e-6'),
    }).map(spec => spec.options)
    expect(options).toEqual([{}, {denGuard: 'add:1e-6'}])
  })

  it('takes an option that changes something for one of the methods, or beside another', () => {
    const some = {methods: ['favor-pos', 'favor-relu'], option: assigned('featureEpsilon=0.1')}
    expect(specs(some).map(spec => spec.options)).toEqual([
      {featureEpsilon: 0.1},
      {featureEpsilon: 0.1},
    ])
    const option = assigned('stabilizer=none', 'featureEpsilon=0.1')
    expect(specs({methods: ['favor-pos'], option})).toHaveLength(1)
    const preset = ['performer-pytorch'] as const
    expect(
      specs({methods: ['favor-pos'], preset, option: assigned('denGuard=add:1')}),
    ).toHaveLength(1)
  })

  it('makes a method of each value of a list or range, and of each combination', () => {
    const options = (methods: string[], ...texts: string[]) =>
      specs({methods, option: assigned(...texts)}).map(spec => spec.options)
    expect(options(['ra'], 'ra.samples=1,4,16')).toEqual([{}, {samples: 4}, {samples: 16}])
    expect(options(['ra'], 'samples=4..16x4,4')).toEqual([{samples: 4}, {samples: 16}])
    expect(options(['rfa', 'elu'], 'rfa.tau=0.5,2', 'denGuard=none,add:1e-6')).toEqual([
      {tau: 0.5},
      {tau: 2},
      {denGuard: 'add:1e-6', tau: 0.5},
      {denGuard: 'add:1e-6', tau: 2},
      {},
      {denGuard: 'add:1e-6'},
    ])
  })

  it('leaves out an option that repeats what the preset says', () => {
    const [spec] = specs({methods: ['rfa'], preset: ['noahs-ark'], option: assigned('tau=1')})
    expect(spec).toEqual({method: 'rfa', preset: 'noahs-ark', options: {}})
  })

  it.each<[string, MethodFlags, string, string]>([
    [
      'an option that no selected method has',
      {methods: ['rfa'], option: assigned('tua=0.5')},
      'UNKNOWN_NAME',
      '--option: expected one of the options tau,',
    ],
    [
      'an option of a method without any',
      {methods: ['softmax'], option: assigned('tau=0.5')},
      'UNKNOWN_NAME',
      '--option: expected no option: the methods have none, got "tau"',
    ],
    [
      'an option of a method that is not selected',
      {methods: ['elu'], option: assigned('rfa.tau=0.5')},
      'UNKNOWN_NAME',
      '--option: expected one of the selected methods elu, got "rfa"',
    ],
    [
      'a value outside its range',
      {methods: ['rfa'], option: assigned('tau=-1')},
      'BAD_OPTION',
      'rfa.tau:',
    ],
    [
      'a value of the wrong type',
      {methods: ['rfa'], option: assigned('tau=warm')},
      'BAD_OPTION',
      'rfa.tau:',
    ],
    [
      'an option given twice',
      {methods: ['rfa'], option: assigned('tau=1', 'tau=2')},
      'BAD_OPTION',
      '--option: expected tau once, got it twice',
    ],
    [
      'an option that changes nothing',
      {methods: ['favor-pos', 'elu'], option: assigned('featureEpsilon=0.1')},
      'BAD_OPTION',
      '--option: expected one that changes something, got featureEpsilon for favor-pos: stabilizer "log" forms no features',
    ],
    [
      'a guard where there is nothing to guard',
      {methods: ['oprf'], option: assigned('denGuard=clamp:1e-2')},
      'BAD_OPTION',
      'got denGuard for oprf: stabilizer "log" divides by no sum that could vanish',
    ],
    [
      'a preset that no selected method has',
      {methods: ['elu', 'rfa'], preset: ['xformers']},
      'UNKNOWN_NAME',
      '--preset: expected a preset that one of elu, rfa has, got "xformers"',
    ],
  ])('refuses %s', (_, flags, code, message) => {
    expect(() => specs(flags)).toThrow(
      expect.objectContaining({code, message: expect.stringContaining(message)}),
    )
  })
})

describe('an option that every object has a property of', () => {
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('is refused: %s', name => {
    for (const option of [assigned(`${name}=1`), assigned(`rfa.${name}=1`)]) {
      expect(() => specs({methods: ['rfa', 'elu'], option})).toThrow(
        expect.objectContaining({
          code: 'UNKNOWN_NAME',
          message: expect.stringContaining(`got "${name}"`),
        }),
      )
    }
  })
})

describe('parseOptionAssignment', () => {
  it('reads a name with its value, and the method before the dot', () => {
    expect(parseOptionAssignment('tau=0.5', '--option')).toEqual({
      method: null,
      name: 'tau',
      value: '0.5',
    })
    expect(parseOptionAssignment('favor-pos.denGuard=add:1e-6', '--option')).toEqual({
      method: 'favor-pos',
      name: 'denGuard',
      value: 'add:1e-6',
    })
  })

  it.each([['tau'], ['=1'], ['tau='], ['']])('refuses %j', text => {
    expect(() => parseOptionAssignment(text, '--option')).toThrow(
      expect.objectContaining({code: 'BAD_OPTION'}),
    )
  })

  it('refuses an unknown method before the dot', () => {
    expect(() => parseOptionAssignment('rf.tau=1', '--option')).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_NAME',
        suggestions: ['did you mean rfa?', 'rfa methods lists all'],
      }),
    )
  })
})
