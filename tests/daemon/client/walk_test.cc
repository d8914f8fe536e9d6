// SPDX-License-Identifier: MIT
// Which files a scan reads, and what it says of the others. git itself is the oracle for
// .gitignore.
#include "daemon/client/walk.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <random>

#include "daemon/client/glob.h"
#include "evidence/base/status.h"
#include "gmock/gmock.h"
#include "tests/daemon/client/client_fixture.h"

namespace keysieve::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using v1::Omission;

std::vector<std::string> Names(const std::vector<WalkedFile>& files, const std::string& root) {
  std::vector<std::string> names;
  for (const WalkedFile& file : files) names.push_back(file.path.substr(root.size() + 1));
  return names;
}

std::vector<std::string> Reasons(const std::vector<Omitted>& list, const std::string& root) {
  std::vector<std::string> lines;
  for (const Omitted& omitted : list) {
    lines.push_back(omitted.path.substr(root.size() + 1) + " " +
                    Omission::Reason_Name(omitted.omission.reason()));
  }
  return lines;
}

TEST(Walk, ListsFilesInByteOrderOfTheirPaths) {
  ScratchFolder tree;
  for (const char* name : {"b/z", "b/a/x", "b-", "a", "B", "\xc3\xa9", "b\n", ".hidden", "b.c"}) {
    tree.Write(name, "12");
  }
  const auto walk = Walk({tree.path()}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()),
              ElementsAre(".hidden", "B", "a", "b\n", "b-", "b.c", "b/a/x", "b/z", "\xc3\xa9"));
  EXPECT_EQ(walk->files[0].size, 2u);
}

TEST(Walk, ListsWhatItLeavesOut) {
  ScratchFolder tree;
  tree.Write("file", "");
  tree.Write(".git/config", "");
  tree.Write("sub/.git", "gitdir: elsewhere");
  ASSERT_EQ(symlink("file", (tree / "link").c_str()), 0);
  ASSERT_EQ(symlink("sub", (tree / "folder-link").c_str()), 0);
  ASSERT_EQ(mkfifo((tree / "pipe").c_str(), 0600), 0);
  const auto walk = Walk({tree.path()}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()), ElementsAre("file"));
  EXPECT_THAT(Reasons(walk->exclusions, tree.path()),
              ElementsAre(".git/ IGNORED_BY_VCS", "folder-link SYMLINK", "link SYMLINK",
                          "pipe SPECIAL_FILE", "sub/.git IGNORED_BY_VCS"));
  EXPECT_THAT(walk->gaps, IsEmpty());
}

TEST(Walk, FollowsALinkOnlyWhereItIsNamed) {
  ScratchFolder tree;
  tree.Write("real/file", "");
  ASSERT_EQ(symlink("real", (tree / "link").c_str()), 0);
  const auto walk = Walk({tree / "link"}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()), ElementsAre("link/file"));
}

TEST(Walk, AFileNamedTwiceIsListedOnce) {
  ScratchFolder tree;
  tree.Write("a/b", "");
  const auto walk = Walk({tree / "a/b", tree.path(), tree / "a/"}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()), ElementsAre("a/b"));
}

TEST(Walk, AFolderThatCannotBeListedIsAGap) {
  ScratchFolder tree;
  tree.Write("closed/file", "");
  chmod((tree / "closed").c_str(), 0);
  const auto walk = [&] {
    const AsNobody nobody;
    return Walk({tree.path()}, {});
  }();
  chmod((tree / "closed").c_str(), 0700);
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Reasons(walk->gaps, tree.path()), ElementsAre("closed/ READ_ERROR"));
}

TEST(Walk, DepthCostsNoDescriptors) {
  ScratchFolder tree;
  std::string path;
  for (int i = 0; i < 1200; ++i) path += "d/";
  std::filesystem::path deep = tree.path();
  ASSERT_EQ(chdir(tree.path().c_str()), 0);
  for (int i = 0; i < 1200; ++i) {
    ASSERT_EQ(mkdir("d", 0700), 0);
    ASSERT_EQ(chdir("d"), 0);
  }
  std::ofstream("file") << "x";
  ASSERT_EQ(chdir("/"), 0);
  const auto walk = Walk({tree.path()}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()), ElementsAre(path + "file"));
}

TEST(Walk, AMissingPathIsAnError) {
  ScratchFolder tree;
  EXPECT_FALSE(Walk({tree / "none"}, {}).ok());
  EXPECT_FALSE(Walk({""}, {}).ok());
}

// The paths of `tree` that git does not ignore, in order. `git check-ignore` decides for each.
std::vector<std::string> KeptByGit(const ScratchFolder& tree,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> kept;
  std::string list;
  for (const std::string& name : names) list += name + '\0';
  std::ofstream(tree / ".git/list", std::ios::binary) << list;
  const std::string command = "cd '" + tree.path() +
                              "' && git -c core.excludesFile=/dev/null check-ignore --no-index -z "
                              "--stdin < .git/list > .git/ignored; [ $? -le 1 ]";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::istringstream in(ScratchFolder::Read(tree / ".git/ignored"));
  std::vector<std::string> ignored;
  for (std::string name; std::getline(in, name, '\0');) ignored.push_back(name);
  for (const std::string& name : names) {
    if (std::find(ignored.begin(), ignored.end(), name) == ignored.end()) kept.push_back(name);
  }
  return kept;
}

void InitRepository(const ScratchFolder& tree) {
  ASSERT_EQ(std::system(("git init -q '" + tree.path() + "'").c_str()), 0);
}

TEST(GitIgnore, NestedFilesNegationAndTheRepositorysOwnList) {
  ScratchFolder tree;
  InitRepository(tree);
  tree.Write(".gitignore", "*.log\n!keep.log\n/build/\ndocs/**/draft\n\\#x\nend\\ \n# comment\n");
  tree.Write("sub/.gitignore", "!*.log\nlocal*\n");
  tree.Write(".git/info/exclude", "private\n");
  std::vector<std::string> names = {".gitignore",     "#x",          "a.log",          "build/x",
                                    "docs/a/b/draft", "docs/draft",  "end ",           "keep.log",
                                    "private",        "src/build/x", "sub/.gitignore", "sub/b.log",
                                    "sub/local1",     "sub/private"};
  for (const std::string& name : names) {
    if (name.find(".gitignore") == std::string::npos) tree.Write(name, "");
  }
  const auto walk = Walk({tree.path()}, {.gitignore = true});
  ASSERT_TRUE(walk.ok());
  EXPECT_EQ(Names(walk->files, tree.path()), KeptByGit(tree, names));
  EXPECT_THAT(Names(walk->files, tree.path()),
              ElementsAre(".gitignore", "keep.log", "src/build/x", "sub/.gitignore", "sub/b.log"));
  const auto below = Walk({tree / "sub"}, {.gitignore = true});
  ASSERT_TRUE(below.ok());
  EXPECT_THAT(Names(below->files, tree.path()), ElementsAre("sub/.gitignore", "sub/b.log"))
      << "rules above the named folder hold as well";
}

TEST(GitIgnore, IsLeftAloneUnlessAskedFor) {
  ScratchFolder tree;
  tree.Write(".gitignore", "*\n");
  tree.Write("a", "");
  const auto walk = Walk({tree.path()}, {});
  ASSERT_TRUE(walk.ok());
  EXPECT_THAT(Names(walk->files, tree.path()), ElementsAre(".gitignore", "a"));
}

TEST(GitIgnore, AgreesWithGitOnRandomRules) {
  std::mt19937 random(20240229);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  ScratchFolder tree;
  InitRepository(tree);
  std::vector<std::string> names;
  for (const char* a : {"a", "ab", "b", "a]b", "!a", "#"}) {
    for (const char* b : {"", "/a", "/b.c", "/ab/a", "/ab/b.c", "/-/x y"}) {
      if (std::string(b).empty()) continue;
      names.push_back(std::string(a) + b);
      tree.Write(names.back(), "");
    }
  }
  std::sort(names.begin(), names.end());
  const std::vector<std::string> parts = {
      "a",    "b",  "*", "?", "**", "/", "/",   "/**/", ".c",          "[ab]", "[!a]", "[a-b]",
      "[^b]", "\\", "!", "#", "-",  " ", "[]]", "[",    "[[:alpha:]]", "x y",  "**/"};
  for (int round = 0; round < 150; ++round) {
    std::string rules;
    for (unsigned line = 0; line < 1 + random() % 4; ++line) {
      for (unsigned i = 0; i < 1 + random() % 5; ++i) rules += pick(parts);
      rules += pick({"\n", "/\n", "\r\n", " \n"});
    }
    std::ofstream(tree / ".git/info/exclude", std::ios::binary) << rules;
    const auto walk = Walk({tree.path()}, {.gitignore = true});
    ASSERT_TRUE(walk.ok());
    ASSERT_EQ(Names(walk->files, tree.path()), KeptByGit(tree, names)) << rules;
  }
}

TEST(Glob, HostilePatternsStayCheap) {
  std::string pattern;
  std::string name;
  for (int i = 0; i < 2000; ++i) pattern += "a*";
  for (int i = 0; i < 4000; ++i) name += "a";
  EXPECT_FALSE(MatchSegment(pattern + "b", name));
  std::string rules;
  std::string path;
  for (int i = 0; i < 200; ++i) rules += "a/**/";
  for (int i = 0; i < 1000; ++i) path += "a/";
  EXPECT_EQ(IgnoreRules::Parse(rules + "b").Check(path + "c", false), IgnoreVerdict::kNone);
}

}  // namespace
}  // namespace keysieve::client
