// SPDX-License-Identifier: MIT
#include "daemon/transport/unix_listener.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <future>

#include "evidence/base/status.h"

namespace keysieve::transport {
namespace {

using ::testing::HasSubstr;

struct Folder {
  Folder() {
    char folder[] = "/tmp/ks-unix-XXXXXX";
    path = ::mkdtemp(folder);
  }
  ~Folder() { ::rmdir(path.c_str()); }
  std::string path;
};

TEST(UnixListener, MakesAPrivateSocketInAPrivateFolderAndCleansUp) {
  Folder folder;
  const std::string path = folder.path + "/keysieve/k.sock";
  {
    const auto listener = UnixListener::Bind(path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat((folder.path + "/keysieve").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  ::rmdir((folder.path + "/keysieve").c_str());
}

TEST(UnixListener, TellsWhoCalls) {
  Folder folder;
  const auto listener = UnixListener::Bind(folder.path + "/k.sock");
  ASSERT_TRUE(listener.ok());
  std::promise<uid_t> who;
  (*listener)->Start([&](int fd, uid_t uid) {
    ::close(fd);
    who.set_value(uid);
  });
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  (folder.path + "/k.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(who.get_future().get(), ::geteuid());
  ::close(fd);
}

TEST(UnixListener, ReplacesAStaleSocketButNeverALiveOne) {
  Folder folder;
  const std::string path = folder.path + "/k.sock";
  // A socket that nobody listens on any more: bound, then its owner died.
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
  auto first = UnixListener::Bind(path);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = UnixListener::Bind(path);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(Message(second.status()), HasSubstr("another process listens on " + path));
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

TEST(UnixListener, LeavesAFileThatIsNoSocketAlone) {
  Folder folder;
  const std::string path = folder.path + "/k.sock";
  ::close(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  const auto listener = UnixListener::Bind(path);
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("is no socket"));
  EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST(UnixListener, SaysWhyAFolderCannotBeMade) {
  const auto listener = UnixListener::Bind("/nonexistent/deeper/k.sock");
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(Message(listener.status()), HasSubstr("/nonexistent/deeper"));
}

}  // namespace
}  // namespace keysieve::transport
