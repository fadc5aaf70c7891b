/** From last hidden states to what they do to predictions and embeddings. */
import type {tf} from '../../../attention/index.js'
import {hostData} from '../../../attention/internal.js'
import {byGroups, linearised, mean, overDrawsAndTexts, weightedMean} from '../../../stats/index.js'
import type {Effects} from '../schema.js'
import type {Original} from './context.js'
import {
  dot,
  type Embeddings,
  nearest,
  overlap,
  pairSpearman,
  type Similarities,
  similarities,
} from './neighbours.js'
import {type NextTokens, nextTokens} from './next-tokens.js'
import {GROUPS} from './parts.js'
import {natsByPosition, positionsOf} from './positions.js'

/** Effects with what orders methods. */
interface WithDamage extends Effects {
  /** Draws, in each the texts. */
  damage: number[][]
  /** How much each text counts: predicted tokens, or all alike. */
  tokens: number[]
}

/** What comes out of the last layer: draws, in each the batches. */
export interface Finals {
  /** `[B, L, width]` */
  hidden: tf.Tensor3D[][]
  /** Squared distances of the vectors of every token from those of the original, `[B L]`. */
  distances: Float32Array[][]
}

/** What exchanged attention does to next-token predictions. */
export async function causalEffects(original: Original, finals: Finals): Promise<WithDamage> {
  const {model, batches} = original
  const table: NextTokens[][] = finals.hidden.map(() => [])
  const head = await model.head()
  const last = {head, vocabulary: model.facts.vocabulary}
  try {
    batches.forEach(({tokens, texts, hidden}, at) => {
      const own = finals.hidden.map(batch => batch[at]!)
      nextTokens(last, tokens, hidden.at(-1)!, own).forEach((found, draw) => {
        texts.forEach((text, place) => {
          table[draw]![text] = found[place]!
        })
      })
    })
  } finally {
    head.dispose()
  }
  const lost = ({original, exchanged}: NextTokens) => exchanged - original
  const [first] = table as [NextTokens[], ...NextTokens[][]]
  const tokens = first.map(({added}) => added.length)
  const effect = (read: (text: NextTokens) => number) =>
    overDrawsAndTexts(
      linearised(
        table.map(row => row.map(read)),
        tokens,
      ),
    )
  return {
    original_nats: weightedMean(
      first.map(({original}) => original),
      tokens,
    ),
    causal_effects: {
      nats_added: effect(lost),
      kl_nats: effect(({kl}) => kl),
      top_agreement: effect(({agreement}) => agreement),
    },
    encoder_effects: null,
    original_nats_high: overDrawsAndTexts([table[0]!.map(({original}) => original)]).high,
    guessing_nats: Math.log(last.vocabulary),
    positions: positionsOf(original, finals.distances, natsByPosition(table)),
    damage: table.map(row => row.map(lost)),
    tokens,
  }
}

/** Neighbours of a text that are looked at. */
const NEAREST = 10
/** A table that has no mean. */
const UNKNOWN = [[Number.NaN]]

/** What exchanged attention does to embeddings. */
export function encoderEffects(original: Original, finals: Finals): WithDamage {
  const whole = embeddingsOf(
    original,
    original.batches.map(({hidden}) => hidden.at(-1)!),
  )
  const draws = finals.hidden.map(own => embeddingsOf(original, own))
  const before = similarities(whole)
  const after = draws.map(similarities)
  const texts = whole.map((_, text) => text)
  const near = texts.map(text => nearest(before, text, NEAREST))
  const damage = draws.map(own => own.map((vector, text) => 1 - dot(vector, whole[text]!)))
  const nearAfter = after.map(own => texts.map(text => nearest(own, text, NEAREST)))
  return {
    original_nats: null,
    causal_effects: null,
    original_nats_high: null,
    guessing_nats: null,
    positions: positionsOf(original, finals.distances, []),
    encoder_effects: {
      cosine_loss: overDrawsAndTexts(damage),
      // of few texts all others are among the nearest, whatever the model does
      neighbour_agreement: overDrawsAndTexts(
        texts.length < 3
          ? UNKNOWN
          : nearAfter.map(own => own.map(([first], text) => (first === near[text]![0] ? 1 : 0))),
      ),
      ten_nearest_kept: overDrawsAndTexts(
        texts.length < NEAREST + 2
          ? UNKNOWN
          : nearAfter.map(own => own.map((list, text) => overlap(near[text]!, list))),
      ),
      pair_spearman: spearman(before, after, texts),
    },
    damage,
    tokens: texts.map(() => 1),
  }
}

function spearman(before: Similarities, after: readonly Similarities[], texts: readonly number[]) {
  const groups = Math.min(GROUPS, texts.length)
  const without = Array.from({length: groups}, (_, group) => {
    const rest = texts.filter(text => text % groups !== group)
    return mean(after.map(own => pairSpearman(before, own, rest)))
  })
  return byGroups(
    after.map(own => pairSpearman(before, own, texts)),
    without,
  )
}

/** Embeddings in the order of the texts. */
function embeddingsOf({model, batches}: Original, hidden: readonly tf.Tensor3D[]): Embeddings {
  const found: Float32Array[] = []
  batches.forEach(({tokens, texts}, at) => {
    const {vectors} = hostData(() => ({vectors: model.embedding(hidden[at]!, tokens)}))
    const values = vectors as Float32Array
    const width = values.length / texts.length
    texts.forEach((text, place) => {
      found[text] = values.slice(place * width, (place + 1) * width)
    })
  })
  return found
}
