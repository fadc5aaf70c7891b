/** What an estimator declares, looked at when it is registered: facts, options, names. */
import {z} from 'zod'
import {describe, expected, type RfaError} from '../../errors.js'
import {packageName} from '../../package.js'
import {TARGET_KERNELS} from '../../theory/target-kernels.js'
import {COMMON_OPTIONS} from '../attention.js'
import type {Estimator} from '../forms/estimator.js'
import {PROJECTION_NAMES} from '../projections/index.js'

/** A name that lists, options (`name.option=value`) and shells take as one word. */
const NAME = /^[A-Za-z][A-Za-z0-9+#_-]{0,39}$/
/** What `--option` takes before the equals sign. */
const OPTION_NAME = /^[A-Za-z]\w*$/

const TEXTS = ['title', 'citation', 'formula', 'advice'] as const
const FUNCTIONS = ['featureDim', 'inputs', 'target', 'cost', 'attend'] as const
const FORMS = ['bidirectional', 'causal', 'cross', 'decode', 'keyMask'] as const
const UNBIASED = [
  ...Object.keys(TARGET_KERNELS).map(kernel => `${kernel}-kernel`),
  ...['output', 'exact', 'none'],
]

/**
 * Refuses an estimator with facts that are missing, of another kind, or would clash.
 *
 * @throws {BAD_PLUGIN} naming the fact
 */
export function checkFacts(estimator: object): asserts estimator is Estimator {
  const facts = estimator as Record<string, unknown>
  const name = checkName(facts.name)
  const refuse = (fact: string, what: string, ...remedies: string[]) => {
    throw expected('BAD_PLUGIN', `${name}: ${fact}`, what, describe(facts[fact]), ...remedies)
  }
  for (const fact of TEXTS) {
    if (typeof facts[fact] !== 'string') refuse(fact, 'a text', EXAMPLES[fact])
  }
  for (const fact of FUNCTIONS) {
    if (typeof facts[fact] !== 'function') {
      refuse(fact, 'a function', 'make it with defineFeatureMap, which needs phi and featureDim')
    }
  }
  for (const fact of ['nonNegative', 'rowsSumToOne', 'keyOrderMatters'] as const) {
    if (typeof facts[fact] !== 'boolean') refuse(fact, 'true or false')
  }
  if (!UNBIASED.includes(String(facts.unbiasedFor))) {
    refuse('unbiasedFor', `one of ${UNBIASED.join(', ')}`)
  }
  checkForms(name, facts)
  checkProjectionFact(name, facts.projection)
  if (!isObject(facts.presets)) refuse('presets', 'an object, {} without any')
  checkOptions(name, facts.options)
}

const EXAMPLES: Readonly<Record<(typeof TEXTS)[number], string>> = {
  title: "what it is in a line, e.g. title: 'cubic features'",
  citation: "where it comes from, e.g. citation: 'unpublished'",
  formula: "what it computes, e.g. formula: 'phi(x)_i = relu(w_i.x)^3'",
  advice: "when to take it, in a sentence; '' says nothing",
}

function checkName(name: unknown): string {
  if (typeof name === 'string' && NAME.test(name) && name !== 'all') return name
  const what = 'a name of letters, digits, -, _, + and #, beginning with a letter'
  throw expected('BAD_PLUGIN', 'estimator', what, describe(name), "e.g. name: 'my-map'")
}

function checkForms(name: string, {supports, decoder}: Record<string, unknown>): void {
  const wrong = FORMS.find(form => !isObject(supports) || typeof supports[form] !== 'boolean')
  if (wrong !== undefined) {
    const what = `true or false for each of ${FORMS.join(', ')}`
    const got = isObject(supports) ? `${wrong}: ${describe(supports[wrong])}` : describe(supports)
    throw expected('BAD_PLUGIN', `${name}: supports`, what, got)
  }
  if (!(supports as {decode: boolean}).decode || typeof decoder === 'function') return
  const what = 'a function, as supports.decode is true'
  const remedy = 'set supports.decode to false where there is no recurrent form'
  throw expected('BAD_PLUGIN', `${name}: decoder`, what, describe(decoder), remedy)
}

function checkProjectionFact(name: string, projection: unknown): void {
  if (projection === undefined) return
  const fallback = isObject(projection) ? projection.default : projection
  if ((PROJECTION_NAMES as readonly unknown[]).includes(fallback)) return
  const what = `one of ${PROJECTION_NAMES.join(', ')}`
  const remedy = "e.g. projection: {default: 'iid'}"
  throw expected('BAD_PLUGIN', `${name}: projection.default`, what, describe(fallback), remedy)
}

function checkOptions(name: string, options: unknown): void {
  const shape = isObject(options) ? options.shape : undefined
  if (!isSchema(options) || !isObject(shape)) throw badSchema(name, options)
  for (const [option, schema] of Object.entries(shape)) {
    if (COMMON_OPTIONS.includes(option)) throw clash(name, option)
    if (!OPTION_NAME.test(option)) {
      throw expected('BAD_PLUGIN', `${name}: options`, 'names of letters and digits', option)
    }
    if (!isSchema(schema)) throw badSchema(`${name}.${option}`, schema)
    const absent = z.safeParse(schema as z.ZodType, undefined)
    if (absent.success) continue
    const what = 'a default, as attention may be called without it'
    const remedy = 'end its schema with .default(...)'
    throw expected('BAD_PLUGIN', `${name}: options.${option}`, what, 'none', remedy)
  }
}

/** Whether it is a schema of zod 4, of this copy of it or of another. */
function isSchema(schema: unknown): boolean {
  return isObject(schema) && isObject(schema._zod)
}

function badSchema(name: string, schema: unknown): RfaError {
  const third = isObject(schema) && '_def' in schema && !('_zod' in schema)
  const what = 'a schema of zod 4, e.g. z.object({})'
  const got = third ? 'one of zod 3' : describe(schema)
  const remedy = `import {z} from '${packageName()}/attention', which is the zod that is used here`
  return expected('BAD_PLUGIN', `${name}: options`, what, got, remedy)
}

function clash(name: string, option: string): RfaError {
  const what = 'a name that no option of all methods has'
  const remedy = `choose another name; options of all methods are ${COMMON_OPTIONS.join(', ')}`
  return expected('BAD_PLUGIN', `${name}: options.${option}`, what, describe(option), remedy)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
