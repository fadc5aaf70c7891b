import {readFileSync} from 'node:fs'
import {expect, it} from 'vitest'
import {runsInTorch, TORCH_METHODS} from '../../../src/tuned/torch.js'

const source = (name: string) => readFileSync(`python/rfa/torch/${name}.py`, 'utf8')

/** Names in a dictionary of Python, those that `**NAME` puts into it among them; as the program spells them. */
function keysIn(dictionary: string, file: string): string[] {
  return [...dictionary.matchAll(/"(\w+)":|\*\*(\w+)/g)].flatMap(([, key, other]) => {
    if (key !== undefined) return [key.replace(/_[a-z]/g, ([, letter]) => letter!.toUpperCase())]
    const [, inner] = new RegExp(`^${other} = \\{(.*)\\}`, 'm').exec(file)!
    return keysIn(inner!, file)
  })
}

function methodsInPython(): Record<string, string[]> {
  const features = source('_features')
  const [, table] = /^METHODS: .* = \{\n([\s\S]*?)^\}/m.exec(features)!
  const maps = [...table!.matchAll(/^ {4}"([\w-]+)": Method\(([\s\S]*?)\),$/gm)].map(
    ([, name, facts]) => {
      const own = /options=(_\w+|\{.*\})/.exec(facts!)?.[1] ?? '{}'
      return [name!, keysIn(own.startsWith('_') ? `**${own}` : own, features)] as const
    },
  )
  const [, others] = /^_OTHERS: .*? = \{(.*)\}$/m.exec(source('_attention'))!
  const attentions = [...others!.matchAll(/"([\w-]+)": \{(.*?)\}/g)].map(
    ([, name, own]) => [name!, keysIn(own!, features)] as const,
  )
  return Object.fromEntries([...attentions, ...maps])
}

it('methods of rfa.torch and their options are those of its source', () => {
  expect(TORCH_METHODS).toEqual(methodsInPython())
})

it('parameters run in PyTorch where rfa.torch has the method with its options, and not by a preset', () => {
  const own = {method: 'favor-pos', preset: 'exact', options: {}} as const
  expect(runsInTorch(own)).toBe(true)
  expect(runsInTorch({...own, method: 'hedgehog', options: {nonlinearity: 'exp'}})).toBe(true)
  expect(runsInTorch({...own, method: 'eva'})).toBe(false)
  expect(runsInTorch({...own, method: 'toString'})).toBe(false)
  expect(runsInTorch({...own, preset: 'google-jax'})).toBe(false)
  expect(runsInTorch({...own, options: {stabilizer: 0.1}})).toBe(false)
})
