import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {
  learnedLayers,
  refuseModelFlags,
  splitTexts,
  textSizes,
} from '../../../../src/cli/plans/model-tune.js'
import {TUNE_FLAGS} from '../../../helpers/flags.js'

/** A text with a token for each letter, up to some. */
function spelled(text: string, most = Infinity) {
  return {text, ids: [...text].slice(0, most).map(letter => letter.charCodeAt(0))}
}

describe('texts of rfa tune --model', () => {
  it('are in one part where they are cut to the same tokens', () => {
    const texts = ['aax', 'bbx', 'aay', 'ccx', 'ddx', 'eex', 'bby', 'ffx', 'ccy']
    const cut = texts.map(text => spelled(text, 2))
    expect(splitTexts(cut, 'texts.txt')).toEqual({
      learned: ['aax', 'bbx', 'ddx', 'eex'],
      judged: ['ccx', 'ffx'],
    })
  })

  it('are in one part each, whatever is there twice', () => {
    const words = fc.array(fc.stringMatching(/^[a-f]{1,2}$/), {minLength: 6, maxLength: 60})
    fc.assert(
      fc.property(words, texts => {
        const different = [...new Set(texts)]
        fc.pre(different.length >= 6)
        const {learned, judged} = splitTexts(
          texts.map(text => spelled(text)),
          'texts.txt',
        )
        expect([...learned, ...judged].sort()).toEqual(different.sort())
        expect(judged).toHaveLength(Math.floor(different.length / 3))
      }),
    )
  })

  it('are refused where they are too few to be learned on, stopped on and judged on', () => {
    const texts = ['a', 'b', 'c', 'd', 'e', 'a', 'b']
    expect(() =>
      splitTexts(
        texts.map(text => spelled(text)),
        'few.txt',
      ),
    ).toThrow(
      'few.txt: expected 6 different texts or more, to learn on, to stop on and to judge on, got 5',
    )
  })

  it('are as many, and as long, as flags say', () => {
    expect(textSizes(TUNE_FLAGS)).toEqual({texts: 90, maxTokens: 128})
    const typed = {...TUNE_FLAGS, quick: true, 'max-texts': 12}
    expect(textSizes(typed)).toEqual({texts: 12, maxTokens: 64})
  })
})

describe('flags of rfa tune --model', () => {
  it.each([
    [{input: ['a.npz']}, '--input'],
    [{layer: [[0]]}, '--layer'],
    [{causal: false}, '--causal'],
    [{shard: {index: 1, count: 2}}, '--shard'],
    [{'dry-run': true}, '--dry-run'],
  ])('go without those of an input: %j', (flags, name) => {
    const sizes = () => textSizes({...TUNE_FLAGS, ...flags})
    expect(sizes).toThrow(`${name}: expected none with --model, got both`)
  })

  it('are refused without it', () => {
    expect(() => refuseModelFlags({...TUNE_FLAGS, texts: 't.txt'})).toThrow(
      '--texts: expected --model with it, got none',
    )
    expect(() => refuseModelFlags({...TUNE_FLAGS, sequential: true})).toThrow(
      '--sequential: expected --model with it, got none',
    )
    expect(() => refuseModelFlags({...TUNE_FLAGS, sequential: false})).not.toThrow()
  })

  it('name one set of layers', () => {
    expect(learnedLayers({}, 3)).toEqual([0, 1, 2])
    expect(learnedLayers({layers: 'last:2'}, 3)).toEqual([1, 2])
    expect(() => learnedLayers({layers: 'each'}, 3)).toThrow(
      /--layers: expected all or some layers/,
    )
    expect(() => learnedLayers({layers: '3'}, 3)).toThrow(/numbers from 0 to 2/)
  })
})
