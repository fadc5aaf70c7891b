import {describe, expect, it} from 'vitest'
import {METHOD_NAMES, unknownMethod} from '../../src/attention/estimators/index.js'
import {closest, listedFor, describe as shown, unknownName} from '../../src/errors.js'

describe('closest', () => {
  it.each([
    ['favor-po', 'favor-pos'],
    ['favr', 'favor-pos'],
    ['Sofmax', 'softmax'],
    ['relu', 'favor-relu'],
    ['online', 'softmax-online'],
    ['eulu', 'elu'],
    ['sfotmax', 'softmax'],
    ['rfa-gtae', 'rfa-gate'],
  ])('takes %s for %s', (typed, meant) => {
    expect(closest(typed, METHOD_NAMES)).toBe(meant)
  })

  it('knows nothing where a short word begins otherwise, or a longer one has only its ending', () => {
    expect(closest('gpu', ['auto', 'native', 'tensorflow', 'wasm', 'cpu'])).toBeUndefined()
    expect(closest('input', ['output', 'quick'])).toBeUndefined()
    expect(closest('cppu', ['auto', 'cpu'])).toBe('cpu')
  })

  it.each(['xyzzy', 'attention', 'q', ''])('knows nothing like %j', typed => {
    expect(closest(typed, METHOD_NAMES)).toBeUndefined()
  })
})

describe('listedFor', () => {
  it('lists eight names, and of more the closest three', () => {
    expect(listedFor('x', [...'abcdefgh'])).toBe('a, b, c, d, e, f, g, h')
    const count = METHOD_NAMES.length - 3
    expect(listedFor('favr-pos', METHOD_NAMES)).toBe(
      `favor-pos, favor-hyp, favor-trig and ${count} more`,
    )
  })

  it('begins with the first names where none is close', () => {
    expect(listedFor('xyzzy', [...'abcdefghi'])).toBe('a, b, c and 6 more')
  })
})

describe('unknownName', () => {
  it('says last where many names are listed', () => {
    const many = METHOD_NAMES.map(name => `${name}-x`)
    expect(unknownName('--claims', 'claims', 'favor-po', many).suggestions).toEqual([
      'did you mean favor-pos-x?',
      'rfa claims --explain lists all',
    ])
    expect(unknownName('--claims', 'claims', 'H1', ['H1-a', 'H2']).suggestions).toEqual([
      'did you mean H1-a?',
    ])
  })
})

describe('unknownMethod', () => {
  it('knows what others call a method', () => {
    const {suggestions} = unknownMethod('--methods', 'Performer', ['favor-pos', 'all'])
    expect(suggestions).toEqual(['did you mean favor-pos?'])
    expect(unknownMethod('--methods', 'rfaa').suggestions[0]).toBe('did you mean rfa?')
  })
})

describe('describe', () => {
  it.each([
    ['a text', '"a text"'],
    [[1, 4, 64], '[1, 4, 64]'],
    [['a', null, 2n], '[a, null, 2]'],
    [new Float32Array(1), 'Float32Array'],
    [undefined, 'none'],
  ])('shows %o', (value, text) => {
    expect(shown(value)).toBe(text)
  })

  it('cuts what is long', () => {
    expect(shown('x'.repeat(1e6))).toHaveLength(203)
    expect(shown(Array(1e6).fill(1))).toBe(`[${'1, '.repeat(24)}and 999976 more]`)
  })

  it.each([
    ['deep', '['.repeat(1e5) + ']'.repeat(1e5), '[[…]]'],
    ['of a class that is none', '{"constructor": {"name": {"toString": 1}}}', 'Object'],
    ['that is no text', '[{"toString": 1}]', '[Object]'],
    ['without a class', '{"constructor": null}', 'Object'],
  ])('shows JSON %s without running into it', (_, json, text) => {
    expect(shown(JSON.parse(json))).toBe(text)
  })
})
