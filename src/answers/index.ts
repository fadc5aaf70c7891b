/** What is distinguishable from what: one rule for each kind of data, and what all rules have in common. */
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
export {boundOn, byDistance} from './theory.js'
