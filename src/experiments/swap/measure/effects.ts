/** From last hidden states to what they do to predictions and embeddings. */
import {byGroups, linearised, mean, overDrawsAndTexts, weightedMean} from '../../../stats/index.js'
import type {Effects} from '../schema.js'
import type {Exchanged, MeasuredTexts} from './engine.js'
import {
  dot,
  type Embeddings,
  nearest,
  overlap,
  pairSpearman,
  type Similarities,
  similarities,
} from './neighbours.js'
import type {NextTokens} from './next-tokens.js'
import {GROUPS} from './parts.js'
import {natsByPosition, positionsOf} from './positions.js'

/** Effects with what orders methods. */
interface WithDamage extends Effects {
  /** Draws, in each the texts. */
  damage: number[][]
  /** How much each text counts: predicted tokens, or all alike. */
  tokens: number[]
}

/** What exchanged attention does to next-token predictions. */
export function causalEffects(
  original: MeasuredTexts,
  {vocabulary}: {vocabulary: number},
  {distances, predictions: table}: Pick<Exchanged, 'distances'> & {predictions: NextTokens[][]},
): WithDamage {
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
    guessing_nats: Math.log(vocabulary),
    positions: positionsOf(original, distances, natsByPosition(table)),
    damage: table.map(row => row.map(lost)),
    tokens,
  }
}

/** Neighbours of a text that are looked at. */
const NEAREST = 10
/** A table that has no mean. */
const UNKNOWN = [[Number.NaN]]

/** What exchanged attention does to embeddings. */
export function encoderEffects(
  original: MeasuredTexts,
  whole: Embeddings,
  {
    distances,
    embeddings: draws,
    sameClass,
  }: Pick<Exchanged, 'distances' | 'sameClass'> & {embeddings: Embeddings[]},
): WithDamage {
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
    positions: positionsOf(original, distances, []),
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
      class_agreement: sameClass ? overDrawsAndTexts(sameClass) : null,
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
