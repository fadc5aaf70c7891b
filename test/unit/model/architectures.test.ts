import {readdirSync} from 'node:fs'
import {join} from 'node:path'
import {describe, expect, it} from 'vitest'
import {architectures} from '../../../src/model/architectures/index.js'
import {packageRoot} from '../../../src/package.js'

describe('the registry of architectures', async () => {
  const all = await architectures()

  it('has every file of its folder', () => {
    const files = readdirSync(join(packageRoot(), 'src/model/architectures'))
    const names = files.map(file => file.replace(/\.ts$/, '')).filter(name => name !== 'index')
    expect(all.map(({kind}) => kind).sort()).toEqual(names.sort())
  })

  it('gives no type and no class to two of them', () => {
    const types = all.flatMap(own => own.types)
    expect(new Set(types).size).toBe(types.length)
    const bases = 'Bert Roberta XLMRoberta DistilBert GPT2 Llama Mistral Qwen2 Qwen3'.split(' ')
    const names = bases.flatMap(base => [`${base}Model`, `${base}ForSequenceClassification`])
    const found = names.map(name => all.filter(({classes}) => classes.test(name)).length)
    expect(found).toEqual(names.map(() => 1))
    const others = ['AlbertModel', 'CamembertModel', 'Qwen2MoeModel', 'Qwen3NextForCausalLM']
    expect(others.filter(name => all.some(({classes}) => classes.test(name)))).toEqual([])
  })
})
