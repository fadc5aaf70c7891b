import type {ComparisonFacts} from '../../compare/schema.js'
import {EXIT_REGRESSION, EXIT_UNDECIDED} from '../program/exit-codes.js'

/** How a comparison ends its command. */
export function comparisonExit({passed, rows}: Pick<ComparisonFacts, 'passed' | 'rows'>): number {
  if (passed) return 0
  const regressed = rows.some(({judgement}) => judgement === 'regression')
  return regressed ? EXIT_REGRESSION : EXIT_UNDECIDED
}
