/** Kinds of flags: what the words behind them are parsed to, and refused for. */
import {extname} from 'node:path'
import * as Flags from '@oclif/core/flags'
import type * as Interfaces from '@oclif/core/interfaces'
import {methodNames, unknownMethod} from '../../attention/names.js'
import {describe, expected, listedFor, unknownName} from '../../errors.js'
import {
  type NumberRule,
  POSITIVE_NUMBER,
  parseNumber,
  parseNumberItem,
  parseShare,
} from './ranges.js'

/** What the parser makes of flags: one that may be missing may be left out. */
export type FlagValues<Definitions> =
  Definitions extends Interfaces.FlagInput<infer Values> ? MaybeMissing<Values> : never
type MaybeMissing<Values> = {
  [Name in keyof Values as undefined extends Values[Name] ? never : Name]: Values[Name]
} & {[Name in keyof Values as undefined extends Values[Name] ? Name : never]?: Values[Name]}

/** What a flag may have besides its description. */
type More = Pick<
  Partial<Interfaces.OptionFlag<unknown>>,
  'char' | 'dependsOn' | 'exclusive' | 'helpGroup' | 'helpValue'
>
type One<Value> = Interfaces.FlagDefinition<
  Value,
  Interfaces.CustomOptions,
  {multiple: false; requiredOrDefaulted: false}
>
type List<Value> = Interfaces.FlagDefinition<
  Value,
  Interfaces.CustomOptions,
  {multiple: true; requiredOrDefaulted: false}
>

/** A kind of flags that takes the description first. */
function described<Value>(kind: One<Value>) {
  function flag(description: string, more: More & {required: true}): Interfaces.OptionFlag<Value>
  function flag(description: string, more?: More): Interfaces.OptionFlag<Value | undefined>
  function flag(description: string, more: More = {}): Interfaces.OptionFlag<Value | undefined> {
    return kind({description, ...more})
  }
  return flag
}

/** The same of flags with lists. */
function describedList<Value>(kind: List<Value>) {
  return (description: string, more: More = {}) => kind({description, ...more})
}

/** The same flags in one group of the help. */
export function inGroup<Definitions extends object>(
  helpGroup: string,
  flags: Definitions,
): Definitions {
  const grouped = Object.entries(flags).map(([name, flag]) => [name, {...flag, helpGroup}])
  return Object.assign({}, flags, Object.fromEntries(grouped))
}

/** A switch that is off unless typed. */
export function toggle(description: string, more: Partial<Interfaces.BooleanFlag<boolean>> = {}) {
  return Flags.boolean({default: false, description, ...more})
}

/** A switch that may be typed either way; `undefined` where neither was. */
export function eitherWay(description: string) {
  const flag = Flags.boolean({allowNo: true, description})
  return flag as Interfaces.BooleanFlag<boolean | undefined> // the library's type has it always there
}

/** One of a few words, which the parser checks. */
export function oneOption<const Options extends readonly string[]>(options: Options) {
  return described<Options[number]>(Flags.option({options}))
}

/** Names of a registry, or how to ask for them where it grows. */
type Names<Name> = readonly Name[] | (() => readonly Name[])
/** Names with what they are called together: `{methods: METHOD_NAMES}`. */
type Registry<Name> = Readonly<Record<string, Names<Name>>>

/** A comma list of names; an unknown one is refused with the nearest known one. */
export function nameList<Name extends string>(registry: Registry<Name>) {
  const [kind, names] = Object.entries(registry)[0]!
  const list = Flags.custom<Name>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'NAME,NAME',
    ...completedWith(names),
    parse: async (text, _context, {name}) => known(text, `--${name}`, kind, names),
  })
  return describedList<Name>(list)
}

/** Names that a shell may complete; the parser does not look at them. */
export function completedWith(choices: Names<string>): {choices: Names<string>} {
  return {choices}
}

export function oneName<Name extends string>(registry: Registry<Name>) {
  const [kind, names] = Object.entries(registry)[0]!
  const flag = Flags.custom<string>({
    helpValue: 'NAME',
    ...completedWith(names),
    parse: async (text, _context, {name}) => known(text, `--${name}`, kind, names),
  })
  return described(flag as unknown as One<Name>) // whose overloads tell no name of a registry from a list
}

/** A file, a folder or a name: anything but nothing. */
export const oneText = described(
  Flags.custom<string>({parse: async (text, _context, {name}) => present(text, `--${name}`)}),
)

/** Endings of files that hold Markdown; a file without one may hold anything. */
const MARKDOWN = /^(\.(md|markdown|mdown|txt)|\.\d.*|)$/i

/** A file for Markdown, or `-`. */
export const markdownFile = Flags.custom<string>({
  helpValue: 'FILE',
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    const ending = extname(path)
    if (MARKDOWN.test(ending)) return path
    const what = 'a Markdown file, ending in .md, or - for stdout'
    throw expected('USAGE', `--${name}`, what, path, ...insteadOfMarkdown(ending.toLowerCase()))
  },
})

/** A file for an HTML page, or `-`. */
export const htmlFile = Flags.custom<string>({
  helpValue: 'FILE',
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    if (path === '-' || /^(\.html?|)$/i.test(extname(path))) return path
    throw expected('USAGE', `--${name}`, 'an HTML file, ending in .html, or - for stdout', path)
  },
})

/** Where else to find what a file of this ending would hold. */
function insteadOfMarkdown(ending: string): string[] {
  const journal = `the folder of a run has it: records.csv, summary.json`
  if (ending === '.csv' || ending === '.tsv') return [journal]
  if (ending === '.json') return [`${journal}; --json prints JSON on stdout`]
  if (/^\.html?$/.test(ending)) return ['--html writes a page for browsers']
  return ['write .md, which other programs convert, pandoc among them']
}

/** A comma list of files; a comma within a name is written `\\,`. */
export const fileList = Flags.custom<string>({
  multiple: true, // shells expand *.npz to words
  delimiter: ',',
  helpValue: 'FILE,FILE',
  parse: async (text, _context, {name}) => present(text, `--${name}`),
})

/** @throws {USAGE} for a text without anything in it: most often a variable of a script that was never set */
export function present(text: string, where: string): string {
  if (text.trim() !== '') return text
  throw expected('USAGE', where, 'a name', 'an empty one', 'look whether a variable was not set')
}

/** A list of numbers and ranges (ranges.ts); each item of the value is itself a list. */
export function numberList(rule: NumberRule) {
  const list = Flags.custom<readonly number[]>({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    helpValue: 'N,N',
    parse: async (text, _context, {name}) => {
      if (text.trim() === '') throw emptyItem(`--${name}`, rule.what)
      return parseNumberItem(text, `--${name}`, rule)
    },
  })
  return describedList<readonly number[]>(list)
}

export function oneNumber(rule: NumberRule) {
  const flag = Flags.custom<number>({
    helpValue: 'N',
    parse: async (text, _context, {name}) => parseNumber(text, `--${name}`, rule),
  })
  return described(flag)
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {s: 1, m: 60, h: 3600}

/** A time in seconds, as people say it: `90s`, `5m`, `1h`. */
export const oneDuration = described(
  Flags.custom<number>({
    helpValue: 'TIME',
    parse: async (text, _context, {name}) => {
      const [, number, unit] = /^(\d+(?:\.\d+)?)([smh])$/.exec(text.trim()) ?? []
      if (number !== undefined && unit !== undefined) return Number(number) * UNIT_SECONDS[unit]!
      throw expected('BAD_RANGE', `--${name}`, 'a time such as 90s, 5m or 1h', describe(text))
    },
  }),
)

/** One loss of a model: a number with a unit, not a share. */
export const oneLoss = described(
  Flags.custom<number>({
    helpValue: 'LOSS',
    parse: async (text, _context, {name}) => {
      const where = `--${name}`
      if (!/%\s*$/.test(text)) return parseNumber(text, where, POSITIVE_NUMBER)
      const what = 'a loss in nats per token of a causal model, or in 1 - cosine of an encoder'
      throw expected('BAD_RANGE', where, what, describe(text), 'write a number such as 0.05')
    },
  }),
)

/** One share, such as `0.05` or `5%`. */
export const oneShare = described(
  Flags.custom<number>({
    helpValue: 'SHARE',
    parse: async (text, _context, {name}) => parseShare(text, `--${name}`),
  }),
)

/** An option of an estimator as typed: `name=value`, or `method.name=value` for one method only. */
export interface OptionAssignment {
  method: string | null
  name: string
  value: string
}

/** Reads `tau=0.5` or `rfa.tau=0.5`. @throws {BAD_OPTION} */
export function parseOptionAssignment(text: string, where: string): OptionAssignment {
  const match = /^(?:([^.=]+)\.)?([^.=\s]+)=(.+)$/.exec(text.trim())
  if (!match) {
    const remedy = `as in ${where} tau=0.5, or ${where} rfa.tau=0.5`
    throw expected('BAD_OPTION', where, 'name=value or method.name=value', describe(text), remedy)
  }
  const [, method, name = '', value = ''] = match
  if (method !== undefined) known(method, where, 'methods', methodNames)
  return {method: method ?? null, name, value}
}

/** What others call some projections. */
const ALSO_CALLED = new Map([
  ['haar', 'orth'],
  ['gaussian', 'iid'],
  ['normal', 'iid'],
  ['rademacher', 'sorf'],
  ['hadamard', 'sorf'],
])

/** Backends that other programs have. */
const GPUS = /^(cuda|gpu|mps|metal|rocm|hip|webgl|webgpu)(:\d+)?$/i

/** The name itself, or the error that suggests the nearest one. @throws {UNKNOWN_NAME} */
function known<Name extends string>(
  text: string,
  where: string,
  kind: string,
  choices: Names<Name>,
): Name {
  const names = typeof choices === 'function' ? choices() : choices
  const found = names.find(name => name === text)
  if (found === undefined) {
    if (text === '') throw emptyItem(where, `one of the ${kind} ${listedFor(text, names)}`)
    if (kind === 'methods') throw unknownMethod(where, text, names)
    if (kind === 'backends' && GPUS.test(text)) {
      const remedy = 'rfa runs on processors only: leave it out, or see rfa doctor'
      const what = `one of the backends ${names.join(', ')}`
      throw expected('UNKNOWN_NAME', where, what, describe(text), remedy)
    }
    throw unknownName(where, kind, text, names, ALSO_CALLED.get(text.toLowerCase()))
  }
  return found
}

/** A comma at the end of a word: what follows the space after it is a word of its own. */
export function emptyItem(where: string, what: string) {
  return expected('USAGE', where, what, 'nothing', 'write lists with commas and no spaces: a,b')
}

/** The same flag among those of no group. @param description - in place of its own */
export function ungrouped<F extends {helpGroup?: string; description?: string}>(
  flag: F,
  description = flag.description,
): F {
  const {helpGroup: _group, ...rest} = flag
  return {...rest, description} as F
}

/**
 * Flags that may not stand beside one, as oclif's `exclusive` has them: usage shows those as a choice, with nothing in the place of a
 * flag that another choice or no part of the command has.
 */
export function notBeside(...flags: string[]) {
  return {relationships: [{type: 'none' as const, flags}]}
}
