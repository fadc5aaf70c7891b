/** `--quick` on a large model: fewer and shorter texts. */
import type {SwapPlan} from '../../experiments/swap/schema.js'
import {plural, waitingTime} from '../../report/numbers.js'
import type {Invocation, Services} from '../program/services.js'
import {describedPlan} from './described-plan.js'

/** Seconds that a quick run may take, as they are predicted. */
const MOST_SECONDS = 60

/** What it reads at least: an interval over fewer texts says little, and attention of shorter ones less. */
const LEAST = {texts: 5, tokens: 64}

/** How much of its texts a plan reads. */
type Read = Pick<SwapPlan, 'texts' | 'max_tokens'>

/**
 * How much a plan reads in about a minute: fewer texts, then shorter ones. Says so where that is less than the plan reads.
 *
 * @throws what preparing a plan throws
 */
export async function quickTexts(
  plan: SwapPlan,
  {services, caution}: Pick<Invocation, 'caution'> & {services: Pick<Services, 'prepareDryRun'>},
  threads?: number,
): Promise<Read> {
  const seconds = async (read: Read) =>
    (await describedPlan({...plan, ...read}, threads, services)).described.predicted_seconds
  const {texts, max_tokens} = plan
  const {count} = texts
  const all = await seconds(plan)
  if (all <= MOST_SECONDS) return {texts, max_tokens}
  const fewer = {...texts, count: fitting(count, all, LEAST.texts)}
  const rest = await seconds({texts: fewer, max_tokens})
  const tokens = fitting(max_tokens, rest, LEAST.tokens)
  const read = {texts: fewer, max_tokens: tokens}
  const takes = waitingTime(1e9 * (await seconds(read)), 2)
  const what = `${plural(fewer.count, 'text')} of at most ${plural(tokens, 'token')}`
  caution(`the model is large: --quick reads ${what}, which may take ${takes}`)
  return read
}

/** A size, or the part of it that there is time for. @param least - where there is more of it */
function fitting(size: number, seconds: number, least: number): number {
  const part = Math.floor(size * Math.min(1, MOST_SECONDS / seconds))
  return Math.max(Math.min(size, least), part)
}
