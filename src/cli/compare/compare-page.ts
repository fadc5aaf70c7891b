/** A comparison as a page. */
import {comparisonFigures} from '../../compare/figures.js'
import type {ComparedSide, ComparisonFacts} from '../../compare/schema.js'
import {packageVersion} from '../../package.js'
import {commandText} from '../../report/command-line.js'
import type {Block} from '../../report/document.js'
import {drawable} from '../../report/figures/figure.js'
import {renderHtml} from '../../report/html/page.js'

/** A comparison, and how it is shown. */
export interface Compared {
  facts: ComparisonFacts
  /** All of it. */
  blocks: Block[]
  /** The first screen. */
  screen(): Block[]
}

/** One file for browsers, with ratios and their intervals as figures. @param argv - command that makes it */
export async function comparisonPage(
  {facts, blocks}: Compared,
  argv: readonly string[],
): Promise<string> {
  const {a, b, experiment, related, warnings, left} = facts
  const command = commandText(argv)
  const figures = comparisonFigures(facts).flatMap(own => {
    const figure = drawable({...own, command})
    return figure ? [{kind: 'figure' as const, figure}] : []
  })
  const [title, ...rest] = blocks
  const run = {
    title: `${experiment}: B over A`,
    what: `Two ${related}, matched cell by cell: A ${nameOf(a)}, B ${nameOf(b)}.`,
    facts: [
      ['A made', a.created_at],
      ['B made', b.created_at],
      ['lines', String(facts.rows.length)],
    ] as const,
    findings: warnings.map(warning => `Warning: ${warning}.`),
    missing: left.length === 0 ? [] : [`${left.length} cells or quantities were not compared`],
  }
  return renderHtml([title!, ...figures, ...rest], {
    title: run.title,
    runs: [run],
    command,
    generator: `rfa ${packageVersion()}`,
  })
}

function nameOf({directory, method}: ComparedSide): string {
  return method === null ? directory : `${method} of ${directory}`
}
