/** What is distinguishable from what, and what is known well enough: one rule for each kind of data. */
export {
  ALPHA,
  ANSWERS,
  type Answer,
  differs,
  REPLIES,
  rejections,
  tiesWith,
} from './answer.js'
export {byCrossedDifference, crossedRatio} from './crossed.js'
export {
  adjustedPValues,
  BASES,
  type DrawTests,
  drawTests,
  frontOf,
  isFoundHigher,
  pairedRatio,
  type TestedRatio,
  unpairedRatio,
} from './draws.js'
export {
  around,
  byInterval,
  byOverlap,
  byTest,
  endsOf,
  isWithin,
  mayBeHigher,
  reaches,
} from './intervals.js'
export {allOf, answerOf, answersOf, type ConditionAnswer, verdictOf} from './ladder.js'
export {worseThanFirst} from './seeds.js'
export {isSettled, isSettledSlope, isTold, SETTLED_FACTOR, SETTLED_SLOPE} from './settled.js'
export {boundOn, byDistance} from './theory.js'
