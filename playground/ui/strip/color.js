// What a chip's colour says. Pure: each way gives a strength from 0 (no colour) to 1.

const clamp = (number) => Math.min(1, Math.max(0, number));
const rarity = (prob) => clamp(-Math.log(Math.max(prob, 1e-9)) / Math.log(500));

const COLOURS = {
  surprise: {
    label: 'surprise', from: 'sure', to: 'surprised',
    unit: 'raw probability of the token: 100% to 0.2% and less', of: (token) => (token.prob === null ? 0 : rarity(token.prob)),
  },
  final: {
    label: 'final probability', from: '100%', to: '0.2%',
    unit: 'probability it was drawn with, after your settings', of: (token) => (token.prompt ? 0 : rarity(token.finalProb)),
  },
  rank: {
    label: 'rank', from: '1st', to: '1,000th',
    unit: 'place of the token in the raw order', of: (token) => (token.rank === null ? 0 : clamp(Math.log(token.rank) / Math.log(1000))),
  },
  entropy: {
    label: 'entropy', from: '0', to: '6 nats',
    unit: 'how open the choice was, in nats', of: (token) => (token.prompt ? 0 : clamp(token.entropy / 6)),
  },
  ratio: {
    label: 'chosen ÷ best', from: '1', to: '1/500',
    unit: 'raw probability of the token ÷ that of the likeliest',
    of: (token) => (token.prompt ? 0 : rarity(token.prob / token.candidates[0].prob)),
  },
  time: {
    label: 'time', from: '0', to: 'slowest',
    unit: 'time for this token ÷ the slowest of the run', of: (token, lane) => (token.prompt ? 0 : clamp(token.time / lane.slowest)),
  },
  role: { label: 'role', unit: 'who wrote it', of: () => 0 },
};
