import {describe, expect, it} from 'vitest'
import {
  nearest,
  overlap,
  pairSpearman,
  similarities,
} from '../../../../../src/experiments/swap/measure/neighbours.js'
import {
  nextOf,
  placeNumbers,
  textMeans,
} from '../../../../../src/experiments/swap/measure/next-tokens.js'
import {randomStream} from '../../../../../src/random/index.js'

function normals(name: string, count: number): Float32Array {
  const values = new Float32Array(count)
  randomStream(7, name).fillNormals(values)
  return values
}

describe('next tokens', () => {
  const [length, vocabulary] = [4, 5]
  const lengths = [4, 2]
  const ids = Int32Array.of(1, 0, 4, 2, 3, 1, 0, 0)
  const batch = {ids, batch: 2, length, lengths}
  const p = normals('p', 2 * length * vocabulary)
  const q = normals('q', 2 * length * vocabulary)

  /** By the definition, in one place. */
  function at(logits: Float32Array, text: number, place: number): number[] {
    const start = (text * length + place) * vocabulary
    const row = [...logits.subarray(start, start + vocabulary)].map(Math.exp)
    const sum = row.reduce((total, one) => total + one, 0)
    return row.map(one => one / sum)
  }

  it('are what their definitions give, without the padding of a text', () => {
    const found = textMeans(batch, placeNumbers({original: p, exchanged: q, next: nextOf(batch)}))
    lengths.forEach((tokens, text) => {
      const places = Array.from({length: tokens - 1}, (_, place) => place)
      const over = (read: (place: number) => number) =>
        places.reduce((sum, place) => sum + read(place), 0) / places.length
      const next = (place: number) => ids[text * length + place + 1]!
      const top = (row: number[]) => row.indexOf(Math.max(...row))
      const [before, after] = [p, q].map(all => (place: number) => at(all, text, place))
      const own = found[text]!
      expect(own.original).toMatchReference(
        over(place => -Math.log(before!(place)[next(place)]!)),
        12,
      )
      expect(own.exchanged).toMatchReference(
        over(place => -Math.log(after!(place)[next(place)]!)),
        12,
      )
      expect(own.kl).toMatchReference(
        over(place =>
          before!(place).reduce((sum, one, i) => sum + one * Math.log(one / after!(place)[i]!), 0),
        ),
        11,
      )
      expect(own.agreement).toBe(over(place => Number(top(before!(place)) === top(after!(place)))))
    })
  })

  it('of the same logits differ by nothing, however large these are', () => {
    const large = p.map(value => 300 * value)
    const call = {original: large, exchanged: large, next: nextOf(batch)}
    for (const own of textMeans(batch, placeNumbers(call))) {
      expect(own.exchanged - own.original).toBe(0)
      expect([own.kl, own.agreement]).toEqual([0, 1])
    }
  })
})

describe('neighbours', () => {
  const texts = Array.from({length: 6}, (_, text) => {
    const vector = normals(`text ${text}`, 3)
    const norm = Math.hypot(...vector)
    return vector.map(value => value / norm)
  })
  const own = similarities(texts)

  it('are the other texts by cosine, the nearest first', () => {
    const cosine = (a: number, b: number) =>
      texts[a]!.reduce((sum, value, i) => sum + value * texts[b]![i]!, 0)
    for (const text of texts.keys()) {
      const found = nearest(own, text, 3)
      const others = [...texts.keys()].filter(other => other !== text)
      const best = others.toSorted((a, b) => cosine(text, b) - cosine(text, a)).slice(0, 3)
      expect(found).toEqual(best)
    }
    expect(overlap([1, 2, 3, 4], [4, 9, 1, 8])).toBe(0.5)
  })

  it('have the rank correlation of all pairs', () => {
    const all = [...texts.keys()]
    expect(pairSpearman(own, own, all)).toMatchReference(1, 12)
    const turned = {...own, values: own.values.map(value => -value)}
    expect(pairSpearman(own, turned, all)).toMatchReference(-1, 12)
    // Pearson's correlation of mean ranks [1, 2.5, 2.5, 4, 6, 5] and [2, 1, 4, 3, 6, 5]
    const pairs = (values: number[]) => {
      const matrix = new Float64Array(16)
      let at = 0
      for (let i = 0; i < 4; i++) for (let j = 0; j < i; j++) matrix[i * 4 + j] = values[at++]!
      return {count: 4, values: matrix}
    }
    const found = pairSpearman(pairs([1, 2, 2, 3, 5, 4]), pairs([2, 1, 4, 3, 6, 5]), [0, 1, 2, 3])
    expect(found).toMatchReference(0.8116794499134278, 12)
  })
})
