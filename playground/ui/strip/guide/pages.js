// The pages of the guide, in reading order.

const GUIDE_PAGES = [
  guideStory, guideTemplate, guideTokens, guideEmbeddings,
  guideLogits, guideTemperature,
  guidePasses, guideStopping,
];
