/** Numbers of single draws on groups of texts: what relations between cells are tested with. */
import {finiteOrNull, weightedMean} from '../../../stats/index.js'
import type {SwapPart} from '../schema.js'
import {forEachError} from './attention-errors.js'
import type {RelativeSquares} from './squares.js'

/** Groups of texts, each of every tenth text. */
export const GROUPS = 10

/** What parts are made of. */
interface Whole {
  /** Draws, in each the texts. */
  damage: readonly (readonly number[])[]
  /** How much each text counts. */
  tokens: readonly number[]
  /** Of the output of every layer; absent: the layer is that of the original. */
  hidden: readonly (RelativeSquares | undefined)[]
  attention: Parameters<typeof errorsOf>[0]
}

/** One for each draw and group; draws in turn. */
export function partsOf({damage, tokens, hidden, attention}: Whole): SwapPart[] {
  const texts = damage[0]!.length
  const groups = Math.min(GROUPS, texts)
  return damage.flatMap((own, draw) =>
    Array.from({length: groups}, (_, group) => {
      const isIn = (text: number) => text % groups === group
      const which = {draw, isIn}
      const [lost, counts] = [own, tokens].map(all => all.filter((_, text) => isIn(text)))
      return {
        draw,
        group,
        damage: short(weightedMean(lost!, counts!)),
        hidden_error: hidden.map(one => short(one ? one.relative(which) : 0)),
        attention_errors: errorsOf(attention, which),
      }
    }),
  )
}

/** Errors of attention. @param which - absent: of all draws and texts together */
export function errorsOf(
  squares: Readonly<Record<keyof SwapPart['attention_errors'], RelativeSquares>>,
  which?: Parameters<RelativeSquares['relative']>[0],
): SwapPart['attention_errors'] {
  return forEachError(name => short(squares[name].relative(which)))
}

/** Six digits: records have hundreds of these. */
function short(value: number): number | null {
  return finiteOrNull(Number(value.toPrecision(6)))
}
