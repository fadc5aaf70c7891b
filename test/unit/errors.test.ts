import {describe, expect, it} from 'vitest'
import {METHOD_NAMES, unknownMethod} from '../../src/attention/estimators/index.js'
import {closest} from '../../src/errors.js'

describe('closest', () => {
  it.each([
    ['favor-po', 'favor-pos'],
    ['favr', 'favor-pos'],
    ['Sofmax', 'softmax'],
    ['relu', 'favor-relu'],
    ['online', 'softmax-online'],
    ['eulu', 'elu'],
  ])('takes %s for %s', (typed, meant) => {
    expect(closest(typed, METHOD_NAMES)).toBe(meant)
  })

  it.each(['xyzzy', 'attention', 'q', ''])('knows nothing like %j', typed => {
    expect(closest(typed, METHOD_NAMES)).toBeUndefined()
  })
})

describe('unknownMethod', () => {
  it('knows what others call a method', () => {
    const {suggestions} = unknownMethod('--methods', 'Performer', ['favor-pos', 'all'])
    expect(suggestions).toEqual(['did you mean favor-pos?'])
    expect(unknownMethod('--methods', 'rfaa').suggestions).toEqual(['did you mean rfa?'])
  })
})
