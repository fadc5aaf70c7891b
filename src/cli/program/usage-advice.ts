/** What somebody may have meant by a command line that the parser refuses. */
import {methodNames} from '../../attention/names.js'
import {closest} from '../../errors.js'
import {formatOf} from '../../inputs/files/formats.js'

/** A flag, as far as advice goes. */
interface FlagShape {
  type?: string
  char?: string
  multiple?: boolean
  /** Between the items of one value. */
  delimiter?: string
  allowNo?: boolean
}

/** A command line with the flags of its command. */
export interface Typed {
  argv: readonly string[]
  flags: Readonly<Record<string, FlagShape>>
}

/** What makes the opposite of a name. */
const NEGATION = /^(?:no|non|not|without|disable|a(?=causal$))-?/

/** What other programs, and earlier versions, call some flags. */
const ALSO_CALLED = new Map([
  ['jobs', 'threads'],
  ['j', 'threads'],
  ['workers', 'threads'],
  ['processes', 'threads'],
  ['length', 'seq-len'],
  ['repeats', 'replicates'],
  ['device', 'backend'],
  ['precision', 'until-ci'],
  ['max-draws', 'max-replicates'],
])

/**
 * Advice on a flag that does not exist. Never its opposite: who writes `--no-causal` does not mean `--causal`.
 *
 * @param word - as typed, with dashes and perhaps a value
 */
export function adviceOnUnknownFlag(word: string, flags: Typed['flags']): string[] {
  const name = word.replace(/^-+/, '').replace(/=.*/s, '')
  const positive = name.replace(NEGATION, '')
  if (positive !== name && positive !== '') return adviceOnNegation(positive, flags)
  const other = ALSO_CALLED.get(name.toLowerCase())
  if (name === 'plan') return ['rfa run FILE runs a plan out of a file']
  const known = other !== undefined && Object.hasOwn(flags, other) ? other : undefined
  const guess = known ?? closest(name, Object.keys(flags))
  return guess === undefined ? [] : [`did you mean --${guess}?`]
}

function adviceOnNegation(positive: string, flags: Typed['flags']): string[] {
  const guess = closest(positive, Object.keys(flags))
  const flag = guess === undefined ? undefined : flags[guess]
  if (flag?.type !== 'boolean') return []
  if (flag.allowNo) return [`did you mean --no-${guess}?`]
  return [`without --${guess} it is off, which is the default`]
}

/**
 * Words with one dash that spell a flag out: the parser would read `-output` as `-o utput`.
 *
 * @returns the first one, and how it is written
 */
export function singleDashed({argv, flags}: Typed): {word: string; meant: string} | undefined {
  const end = argv.indexOf('--')
  for (const word of end < 0 ? argv : argv.slice(0, end)) {
    const name = /^-([a-z][\w-]+)(?:=|$)/.exec(word)?.[1]
    if (name !== undefined && Object.hasOwn(flags, name)) return {word, meant: `-${word}`}
  }
  return undefined
}

/** Advice on a word that is neither a flag nor a value of one. */
export function adviceOnStray(stray: string, {argv, flags}: Typed): string[] {
  const assigned = assignedSwitch(stray, {argv, flags})
  if (assigned && argv.includes(`--no-${assigned}=${stray}`)) {
    return [`--no-${assigned} takes no value: write --no-${assigned} alone`]
  }
  if (assigned) return adviceOnSwitch(assigned, stray, flags)
  const {owner, words} = listBefore(stray, {argv, flags})
  const flag = owner === undefined ? undefined : flags[owner]
  if (owner === undefined || flag === undefined) return adviceOnBare(stray, flags)
  if (flag.type === 'boolean') {
    return isTruth(stray) ? adviceOnSwitch(owner, stray, flags) : adviceOnBare(stray, flags)
  }
  if (!flag.multiple) return [`--${owner} takes one value: quote it if there are spaces in it`]
  if (flag.delimiter === undefined) {
    return [`repeat the flag: ${words.map(word => `--${owner} ${word}`).join(' ')}`]
  }
  const items = words.flatMap(word => word.split(flag.delimiter!)).filter(Boolean)
  return [`a list has commas and no spaces: --${owner} ${items.join(flag.delimiter)}`]
}

/** The switch that was given this value by `=`. */
function assignedSwitch(value: string, {argv, flags}: Typed): string | undefined {
  const word = argv.find(text => text.startsWith('--') && text.endsWith(`=${value}`))
  const name = word?.slice(2).split('=')[0]?.replace(/^no-/, '')
  return name !== undefined && flags[name]?.type === 'boolean' ? name : undefined
}

/** The flag before a word, and all words from its first value on up to the next flag. */
function listBefore(stray: string, {argv, flags}: Typed): {owner?: string; words: string[]} {
  const at = argv.indexOf(stray)
  const begin = argv.findLastIndex((word, index) => index < at && /^-./.test(word))
  if (begin < 0) return {words: []}
  const rest = argv.slice(begin + 1)
  const end = rest.findIndex(word => /^-./.test(word))
  const words = end < 0 ? rest : rest.slice(0, end)
  const [name = '', value] = argv[begin]!.split(/=(.*)/s)
  const owner = Object.keys(flags).find(
    flag => name === `--${flag}` || name === `--no-${flag}` || name === `-${flags[flag]?.char}`,
  )
  if (owner === undefined) return {words: []}
  return {owner, words: value === undefined ? words : [value, ...words]}
}

function isTruth(word: string): boolean {
  return /^(true|false|yes|no|on|off|0|1)$/i.test(word)
}

/** A switch takes no value: which way is it to stand? */
function adviceOnSwitch(name: string, value: string, flags: Typed['flags']): string[] {
  if (!/^(false|no|off|0)$/i.test(value)) return [`--${name} takes no value: write --${name} alone`]
  const off = flags[name]?.allowNo ? `write --no-${name}` : `leave --${name} out`
  return [`--${name} takes no value: ${off} to have it off`]
}

/** Something that stands alone: the name of a method, of a flag, or of a file. */
function adviceOnBare(stray: string, flags: Typed['flags']): string[] {
  const methods = ['methods', 'method'].find(name => Object.hasOwn(flags, name))
  const isMethod = methodNames().includes(stray)
  if (isMethod && methods) return [`did you mean --${methods} ${stray}?`]
  if (Object.hasOwn(flags, stray)) return [`did you mean --${stray}?`]
  if (formatOf(stray) !== undefined && Object.hasOwn(flags, 'input')) {
    return [`did you mean --input ${stray}?`]
  }
  return []
}

/** The opposite of a switch. @param word - with dashes */
export function opposite(word: string): string {
  return word.replace(/^--/, '--no-')
}

/** A switch that was typed both ways: the parser would take the last. */
export function bothWays({argv, flags}: Typed): string | undefined {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  return Object.entries(flags)
    .filter(([, {type}]) => type === 'boolean')
    .map(([name]) => `--${name}`)
    .find(word => words.includes(word) && words.includes(opposite(word)))
}
