/** For pairs of opposite tests, one pair for each condition of a claim: an answer for each, and what all of them say. */

/** What is known of a condition: the claim is right there, wrong, or neither was seen. */
export type ConditionAnswer = 'yes' | 'no' | 'open'

/** The answer of two tests: the first speaks for the claim. */
export function answerOf([right, wrong]: readonly (boolean | undefined)[]): ConditionAnswer {
  return right ? 'yes' : wrong ? 'no' : 'open'
}

/** Answers of pairs of tests that follow each other. */
export function answersOf(rejected: readonly boolean[]): ConditionAnswer[] {
  return Array.from({length: rejected.length / 2}, (_, at) =>
    answerOf(rejected.slice(2 * at, 2 * at + 2)),
  )
}

/** The answer of several conditions of one claim that must all be met; open without any. */
export function allOf(answers: readonly ConditionAnswer[]): ConditionAnswer {
  if (answers.includes('no')) return 'no'
  return answers.includes('open') || answers.length === 0 ? 'open' : 'yes'
}

/** What all settings say together. */
type LadderVerdict = 'holds' | 'refuted' | 'depends' | 'inconclusive'

/** Over settings: `depends` takes one where the claim was seen to be right, and one where it was seen to be wrong. */
export function verdictOf(answers: readonly ConditionAnswer[]): LadderVerdict {
  const [some, none] = [answers.includes('yes'), answers.includes('no')]
  if (some && none) return 'depends'
  if (answers.includes('open') || answers.length === 0) return 'inconclusive'
  return some ? 'holds' : 'refuted'
}
